CREATE TABLE `Customer` (
    `id` INTEGER NOT NULL AUTO_INCREMENT,
    `email` VARCHAR(100) NOT NULL,
    `name` VARCHAR(191) NOT NULL,
    `kind` ENUM('PERSON', 'FIRM') NOT NULL DEFAULT 'PERSON',
    `settings` JSON NULL,
    `born` DATE NULL,
    `seen` DATETIME(6) NULL,
    `active` BOOLEAN NOT NULL DEFAULT true,
    `token` CHAR(36) NOT NULL,
    `bossId` INTEGER NULL,
    `made` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
    `changed` DATETIME(3) NOT NULL,
    UNIQUE INDEX `Customer_email_key`(`email`),
    INDEX `Customer_kind_name_idx`(`kind`, `name`(20)),
    PRIMARY KEY (`id`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE `Product` (
    `sku` VARCHAR(20) NOT NULL,
    `title` VARCHAR(191) NOT NULL,
    `price` DECIMAL(12, 2) NOT NULL,
    `stock` INTEGER UNSIGNED NOT NULL DEFAULT 0,
    `weight` DOUBLE NULL,
    `picture` MEDIUMBLOB NULL,
    `views` BIGINT NOT NULL DEFAULT 0,
    `opens` TIME(0) NULL,
    `about` TEXT NULL,
    PRIMARY KEY (`sku`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE `Tag` (
    `id` INTEGER NOT NULL AUTO_INCREMENT,
    `word` VARCHAR(30) NOT NULL,
    UNIQUE INDEX `Tag_word_key`(`word`),
    PRIMARY KEY (`id`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE `orders` (
    `id` INTEGER NOT NULL AUTO_INCREMENT,
    `customerId` INTEGER NOT NULL,
    `state` VARCHAR(10) NOT NULL DEFAULT 'new',
    PRIMARY KEY (`id`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE `Line` (
    `orderId` INTEGER NOT NULL,
    `productSku` VARCHAR(20) NOT NULL,
    `quantity` INTEGER NOT NULL,
    PRIMARY KEY (`orderId`, `productSku`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE `_ProductToTag` (
    `A` VARCHAR(20) NOT NULL,
    `B` INTEGER NOT NULL,
    UNIQUE INDEX `_ProductToTag_AB_unique`(`A`, `B`),
    INDEX `_ProductToTag_B_index`(`B`)
) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
ALTER TABLE `Customer` ADD CONSTRAINT `Customer_bossId_fkey` FOREIGN KEY (`bossId`) REFERENCES `Customer`(`id`) ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE `orders` ADD CONSTRAINT `orders_customerId_fkey` FOREIGN KEY (`customerId`) REFERENCES `Customer`(`id`) ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE `Line` ADD CONSTRAINT `Line_orderId_fkey` FOREIGN KEY (`orderId`) REFERENCES `orders`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE `Line` ADD CONSTRAINT `Line_productSku_fkey` FOREIGN KEY (`productSku`) REFERENCES `Product`(`sku`) ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE `_ProductToTag` ADD CONSTRAINT `_ProductToTag_A_fkey` FOREIGN KEY (`A`) REFERENCES `Product`(`sku`) ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE `_ProductToTag` ADD CONSTRAINT `_ProductToTag_B_fkey` FOREIGN KEY (`B`) REFERENCES `Tag`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;

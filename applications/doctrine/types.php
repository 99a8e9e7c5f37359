<?php
// Types that Doctrine lacks: times of six digits, the server's ENUM, and years.

use Doctrine\DBAL\Platforms\AbstractPlatform;
use Doctrine\DBAL\Types\Type;

class MicroTime extends Type
{
    public function getSQLDeclaration(array $column, AbstractPlatform $platform)
    {
        return 'DATETIME(6)';
    }

    public function convertToPHPValue($value, AbstractPlatform $platform)
    {
        return $value === null ? null : new DateTimeImmutable($value);
    }

    public function convertToDatabaseValue($value, AbstractPlatform $platform)
    {
        return $value === null ? null : $value->format('Y-m-d H:i:s.u');
    }

    public function getName()
    {
        return 'micro_time';
    }

    public function requiresSQLCommentHint(AbstractPlatform $platform)
    {
        return true;
    }
}

class GradeType extends Type
{
    public function getSQLDeclaration(array $column, AbstractPlatform $platform)
    {
        return "ENUM('junior', 'senior', 'it''s other')";
    }

    public function getName()
    {
        return 'grade';
    }

    public function requiresSQLCommentHint(AbstractPlatform $platform)
    {
        return true;
    }
}

Type::addType('micro_time', MicroTime::class);
Type::addType('grade', GradeType::class);

// A shop in GORM: models with associations, migrations, transactions, locks.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/datatypes"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Customer struct {
	ID       uint   `gorm:"primaryKey"`
	Email    string `gorm:"size:100;not null;uniqueIndex"`
	Name     string `gorm:"size:200;not null;check:name <> ''"`
	Kind     string `gorm:"type:enum('person','firm');default:person"`
	Settings datatypes.JSON
	Born     *datatypes.Date
	Seen     *time.Time `gorm:"precision:6"`
	Active   bool       `gorm:"default:true"`
	Token    datatypes.UUID
	Address  Address `gorm:"embedded;embeddedPrefix:home_"`
	Orders   []Order
	Created  time.Time `gorm:"autoCreateTime;precision:6"`
	Changed  time.Time `gorm:"autoUpdateTime;precision:6"`
}

type Address struct {
	Street string `gorm:"size:100"`
	City   string `gorm:"size:100;index"`
}

type Product struct {
	SKU     string  `gorm:"primaryKey;size:20"`
	Title   string  `gorm:"size:255;index:by_title,priority:1;comment:what it is called"`
	Price   float64 `gorm:"type:decimal(12,2);index:by_title,priority:2,sort:desc"`
	Gross   float64 `gorm:"->;type:decimal(14,4) GENERATED ALWAYS AS (price * 1.19) STORED"`
	Stock   uint32
	Weight  *float64
	Picture []byte `gorm:"type:mediumblob"`
	Views   uint64
	Tags    []Tag `gorm:"many2many:product_tags;constraint:OnDelete:CASCADE"`
	Labels  datatypes.JSONSlice[string]
	Opens   datatypes.Time
}

type Tag struct {
	ID       uint
	Word     string `gorm:"size:30;uniqueIndex:words"`
	ParentID *uint
	Parent   *Tag `gorm:"constraint:OnDelete:SET NULL"`
}

type Order struct {
	gorm.Model
	CustomerID uint
	Customer   Customer `gorm:"constraint:OnUpdate:CASCADE,OnDelete:RESTRICT"`
	State      string   `gorm:"size:10;default:new"`
	Lines      []Line
}

type Line struct {
	OrderID    uint   `gorm:"primaryKey;autoIncrement:false"`
	ProductSKU string `gorm:"primaryKey;size:20"`
	Product    Product
	Quantity   int
}

// Comment belongs to whatever it is about.
type Comment struct {
	ID        uint
	Text      string
	OwnerID   string `gorm:"size:40"`
	OwnerType string `gorm:"size:40"`
}

var db *gorm.DB

func show(values ...any) {
	var value any = values
	if len(values) == 1 {
		value = values[0]
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func step(name string, run func()) {
	defer func() {
		if bad := recover(); bad != nil {
			fmt.Printf("step %s FAILED %v\n", name, strings.ReplaceAll(fmt.Sprint(bad), "\n", " "))
		} else {
			fmt.Printf("step %s ok\n", name)
		}
	}()
	run()
}

var holder = regexp.MustCompile(`(?s) \(the lock is held by: .*\)$`)

// fails prints the error that there must be: the server's, and GORM's.
func fails(err error) {
	if err == nil {
		panic("there was no error")
	}
	var from *driver.MySQLError
	if errors.As(err, &from) {
		show(from.Number, string(from.SQLState[:]), holder.ReplaceAllString(from.Message, ""))
		return
	}
	show(err.Error())
}

func schema() {
	models := []any{&Customer{}, &Product{}, &Tag{}, &Order{}, &Line{}, &Comment{}}
	step("migrate", func() { must(db.AutoMigrate(models...)) })
	step("migrate again", func() { must(db.AutoMigrate(models...)) })
	step("tables", func() {
		tables, err := db.Migrator().GetTables()
		must(err)
		sort.Strings(tables)
		show(tables)
		for _, table := range tables {
			var name, text string
			must(db.Raw("SHOW CREATE TABLE `"+table+"`").Row().Scan(&name, &text))
			show(text)
		}
	})
	step("columns", func() {
		for _, model := range models {
			types, err := db.Migrator().ColumnTypes(model)
			must(err)
			for _, column := range types {
				full, _ := column.ColumnType()
				length, _ := column.Length()
				precision, scale, _ := column.DecimalSize()
				nullable, _ := column.Nullable()
				fallback, has := column.DefaultValue()
				unique, _ := column.Unique()
				primary, _ := column.PrimaryKey()
				counts, _ := column.AutoIncrement()
				comment, _ := column.Comment()
				show(column.Name(), column.DatabaseTypeName(), full, length, precision, scale, nullable, fallback, has, unique, primary, counts, comment)
			}
			indexes, err := db.Migrator().GetIndexes(model)
			must(err)
			for _, index := range indexes {
				unique, _ := index.Unique()
				show(index.Name(), index.Columns(), unique)
			}
		}
		show(db.Migrator().HasTable("nowhere"), db.Migrator().HasColumn(&Product{}, "title"), db.Migrator().HasIndex(&Product{}, "by_title"), db.Migrator().HasConstraint(&Order{}, "Customer"), db.Migrator().CurrentDatabase() != "")
	})
}

func rows() {
	step("create", func() {
		seen := time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)
		born := datatypes.Date(time.Date(1990, 2, 28, 0, 0, 0, 0, time.UTC))
		ann := Customer{Email: "ann@example.org", Name: "Ann É 🙂", Settings: datatypes.JSON(`{"theme": "dark", "sizes": [1, 2]}`),
			Born: &born, Seen: &seen, Address: Address{"High Street", "Bath"},
			Token: datatypes.UUID(datatypes.BinUUIDFromString("6c84fb90-12c4-11e1-840d-7b25c5ee775a"))}
		must(db.Create(&ann).Error)
		show(ann.ID, ann.Kind, ann.Active)
		var found Customer
		must(db.First(&found, ann.ID).Error)
		show(found.Name, found.Settings, found.Born, found.Seen, found.Active, found.Token, found.Address, found.Created.IsZero())
		must(db.Select("Email", "Name", "Settings", "Born").Create(&[]Customer{{Email: "bob@example.org", Name: "Bob"}, {Email: "cy@example.org", Name: "Cy", Settings: datatypes.JSON(`[]`)}}).Error)
	})
	step("batches", func() {
		var products []Product
		for i := 0; i < 200; i++ {
			weight := float64(i) / 7
			products = append(products, Product{SKU: fmt.Sprintf("P%03d", i), Title: fmt.Sprintf("Product %d", i%20), Price: float64(i) * 1.25, Stock: uint32(i),
				Weight: &weight, Picture: []byte{0, byte(i), 255}, Views: 1<<63 + uint64(i), Labels: datatypes.NewJSONSlice([]string{"a", fmt.Sprint(i)}), Opens: datatypes.NewTime(i%24, 1, 2, 0)})
		}
		must(db.CreateInBatches(products, 60).Error)
		var one Product
		must(db.First(&one, "sku = ?", "P007").Error)
		show(one)
		var count int64
		must(db.Model(&Product{}).Count(&count).Error)
		show(count)
	})
	step("associations", func() {
		for i := 1; i <= 3; i++ {
			order := Order{CustomerID: 1}
			for j := 1; j <= i; j++ {
				order.Lines = append(order.Lines, Line{ProductSKU: fmt.Sprintf("P%03d", j), Quantity: j * i})
			}
			must(db.Create(&order).Error)
		}
		red := Tag{Word: "red"}
		must(db.Create(&red).Error)
		product := Product{SKU: "P001"}
		must(db.Model(&product).Association("Tags").Append(&red, &Tag{Word: "dark", ParentID: &red.ID}))
		show(db.Model(&product).Association("Tags").Count())
		var tags []Tag
		must(db.Model(&product).Association("Tags").Find(&tags))
		show(tags)
		must(db.Model(&product).Association("Tags").Replace(&red))
		show(db.Model(&product).Association("Tags").Count())
		must(db.Delete(&red).Error)
		must(db.Find(&tags).Error)
		show(tags)
	})
	step("preload", func() {
		var customers []Customer
		must(db.Preload("Orders", func(tx *gorm.DB) *gorm.DB { return tx.Order("orders.id") }).Preload("Orders.Lines", func(tx *gorm.DB) *gorm.DB { return tx.Order("product_sku") }).Preload("Orders.Lines.Product").Order("id").Find(&customers).Error)
		for _, customer := range customers {
			for _, order := range customer.Orders {
				for _, line := range order.Lines {
					show(customer.Name, order.ID, order.State, line.Product.Title, line.Quantity)
				}
			}
		}
		var lines []Line
		must(db.Joins("Product").Where("Product.price > ?", 1.5).Order("order_id, product_sku").Find(&lines).Error)
		show(len(lines), lines[0].Product.Price)
		var orders []Order
		must(db.InnerJoins("Customer", db.Where(&Customer{Kind: "person"})).Order("orders.id").Find(&orders).Error)
		show(len(orders), orders[0].Customer.Email)
	})
	step("queries", func() {
		var products []Product
		must(db.Select("sku", "price").Where("title LIKE ?", "%1").Where(db.Where("stock BETWEEN ? AND ?", 10, 90).Or("sku IN ?", []string{"P101"})).Order("price DESC").Limit(3).Offset(1).Find(&products).Error)
		show(products)
		var totals []struct {
			Title string
			N     int
			Mean  float64
			Sum   string
		}
		must(db.Model(&Product{}).Select("title, COUNT(*) AS n, AVG(price) AS mean, SUM(price) AS sum").Group("title").Having("mean > ?", 130).Order("title").Scan(&totals).Error)
		show(totals)
		var titles []string
		must(db.Model(&Product{}).Distinct().Order("title").Limit(3).Pluck("title", &titles).Error)
		show(titles)
		sub := db.Model(&Product{}).Select("AVG(price)")
		var count int64
		must(db.Model(&Product{}).Where("price > (?)", sub).Count(&count).Error)
		show(count)
		must(db.Table("(?) AS t", db.Model(&Product{}).Select("title, MAX(stock) AS m").Group("title")).Where("m > 195").Count(&count).Error)
		show(count)
		var found []map[string]any
		must(db.Raw("SELECT sku, ROW_NUMBER() OVER (PARTITION BY title ORDER BY price DESC) AS n FROM products ORDER BY title, n LIMIT 3").Scan(&found).Error)
		show(found)
		must(db.Raw("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @last) SELECT SUM(i) AS s FROM n", map[string]any{"last": 10}).Scan(&count).Error)
		show(count)
	})
	step("json", func() {
		var names []string
		must(db.Model(&Customer{}).Where(datatypes.JSONQuery("settings").Equals("dark", "theme")).Pluck("name", &names).Error)
		show(names)
		must(db.Model(&Customer{}).Where(datatypes.JSONQuery("settings").HasKey("sizes")).Pluck("name", &names).Error)
		show(names)
		must(db.Model(&Customer{}).Where("email = ?", "ann@example.org").UpdateColumn("settings", datatypes.JSONSet("settings").Set("theme", "blue").Set("more", map[string]int{"a": 1})).Error)
		var settings []datatypes.JSON
		must(db.Model(&Customer{}).Where("id IN ?", []int{1, 3}).Order("id").Pluck("settings", &settings).Error)
		show(settings)
		var products []Product
		must(db.Select("sku").Where(datatypes.JSONArrayQuery("labels").Contains("17")).Find(&products).Error)
		show(len(products))
	})
	step("upsert", func() {
		done := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&[]Product{{SKU: "P001", Title: "renamed", Price: 3.5}, {SKU: "NEW", Title: "new", Price: 4.5}})
		must(done.Error)
		show(done.RowsAffected)
		done = db.Clauses(clause.OnConflict{DoUpdates: clause.Assignments(map[string]any{"stock": gorm.Expr("stock + ?", 5)})}).Create(&Product{SKU: "P002", Title: "x"})
		show(done.RowsAffected)
		done = db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Tag{Word: "dark"})
		show(done.RowsAffected)
		var tag Tag
		must(db.Where(Tag{Word: "green"}).FirstOrCreate(&tag).Error)
		must(db.Where(Tag{Word: "green"}).Assign(Tag{ParentID: &tag.ID}).FirstOrCreate(&tag).Error)
		show(tag.Word, tag.ParentID != nil)
		var products []Product
		must(db.Select("sku", "title", "price", "stock").Where("sku IN ?", []string{"P001", "P002", "NEW"}).Order("sku").Find(&products).Error)
		show(products)
	})
	step("change", func() {
		show(db.Model(&Product{}).Where("stock < ?", 5).Update("stock", gorm.Expr("stock + 1")).RowsAffected)
		show(db.Model(&Product{SKU: "P004"}).Updates(map[string]any{"title": "four", "weight": nil}).RowsAffected)
		show(db.Where("sku LIKE ?", "P19%").Limit(4).Delete(&Product{}).RowsAffected)
		show(db.Delete(&Order{}, 1).RowsAffected)
		var live, all int64
		db.Model(&Order{}).Count(&live)
		db.Unscoped().Model(&Order{}).Count(&all)
		show(live, all)
		fails(db.Delete(&Product{}).Error)
	})
	step("rows and batches", func() {
		rows, err := db.Model(&Product{}).Order("sku").Rows()
		must(err)
		defer rows.Close()
		sum, count := 0, 0
		for rows.Next() {
			var product Product
			must(db.ScanRows(rows, &product))
			sum += int(product.Stock)
			count++
		}
		show(sum, count)
		var products []Product
		batches := 0
		must(db.FindInBatches(&products, 64, func(*gorm.DB, int) error { batches++; return nil }).Error)
		show(batches)
	})
}

func mistakes() {
	step("unique", func() { fails(db.Create(&Customer{Email: "ann@example.org", Name: "x"}).Error) })
	step("unique, translated", func() {
		own, err := gorm.Open(db.Dialector, &gorm.Config{TranslateError: true, Logger: logger.Discard})
		must(err)
		show(errors.Is(own.Create(&Tag{Word: "dark"}).Error, gorm.ErrDuplicatedKey), errors.Is(own.Create(&Order{CustomerID: 4711}).Error, gorm.ErrForeignKeyViolated),
			errors.Is(own.Model(&Customer{}).Where("id = 1").Update("name", "").Error, gorm.ErrCheckConstraintViolated))
	})
	step("no parent", func() { fails(db.Create(&Order{CustomerID: 4711}).Error) })
	step("has children", func() { fails(db.Delete(&Customer{ID: 1}).Error) })
	step("check", func() { fails(db.Create(&Customer{Email: "x"}).Error) })
	step("too long", func() { fails(db.Create(&Tag{Word: strings.Repeat("x", 31)}).Error) })
	step("out of range", func() { fails(db.Model(&Product{}).Where("sku = 'P001'").Update("stock", -1).Error) })
	step("enum", func() { fails(db.Model(&Customer{}).Where("id = 1").Update("kind", "lost").Error) })
	step("bad json", func() { fails(db.Exec("UPDATE customers SET settings = '{'").Error) })
	step("no table", func() { fails(db.Table("nowhere").Find(&[]map[string]any{}).Error) })
	step("no column", func() { fails(db.Where("colour = 1").Find(&[]Product{}).Error) })
	step("syntax", func() { fails(db.Exec("SELEC 1").Error) })
	step("not found", func() { fails(db.First(&Customer{}, 4711).Error) })
}

func stock(tx *gorm.DB, sku string) (stock uint32) {
	must(tx.Model(&Product{}).Where("sku = ?", sku).Pluck("stock", &stock).Error)
	return
}

func set(tx *gorm.DB, sku string, stock int) error {
	return tx.Model(&Product{}).Where("sku = ?", sku).Update("stock", stock).Error
}

func transactions() {
	step("commit and rollback", func() {
		must(db.Transaction(func(tx *gorm.DB) error { return set(tx, "P010", 1000) }))
		err := db.Transaction(func(tx *gorm.DB) error {
			must(set(tx, "P010", 2000))
			show(stock(tx, "P010"))
			return errors.New("undo")
		})
		show(err.Error(), stock(db, "P010"))
	})
	step("savepoints", func() {
		must(db.Transaction(func(tx *gorm.DB) error {
			must(set(tx, "P011", 1))
			inner := tx.Transaction(func(tx *gorm.DB) error {
				must(set(tx, "P011", 2))
				return errors.New("inner")
			})
			show(inner.Error(), stock(tx, "P011"))
			tx.SavePoint("here")
			must(set(tx, "P011", 3))
			tx.RollbackTo("here")
			return nil
		}))
		show(stock(db, "P011"))
	})
	step("locks", func() {
		must(db.Transaction(func(first *gorm.DB) error {
			must(first.Clauses(clause.Locking{Strength: "UPDATE"}).First(&Product{}, "sku = ?", "P020").Error)
			return db.Transaction(func(second *gorm.DB) error {
				var free []string
				must(second.Model(&Product{}).Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).Where("sku IN ?", []string{"P020", "P021"}).Pluck("sku", &free).Error)
				show(free)
				fails(second.Clauses(clause.Locking{Strength: "SHARE", Options: "NOWAIT"}).First(&Product{}, "sku = ?", "P020").Error)
				must(second.Exec("SET innodb_lock_wait_timeout = 1").Error)
				fails(set(second, "P020", 5))
				return second.Exec("SET innodb_lock_wait_timeout = DEFAULT").Error
			})
		}))
	})
	step("timeout", func() {
		limited, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		fails(db.WithContext(limited).Exec("SELECT SLEEP(5)").Error)
		show(stock(db, "P022"))
	})
	step("many at once", func() {
		var all sync.WaitGroup
		for i := 0; i < 50; i++ {
			all.Add(1)
			go func() {
				defer all.Done()
				_ = db.Transaction(func(tx *gorm.DB) error {
					var product Product
					must(tx.Clauses(clause.Locking{Strength: "UPDATE"}).First(&product, "sku = ?", "P040").Error)
					return set(tx, "P040", int(product.Stock)+1)
				})
			}()
		}
		all.Wait()
		show(stock(db, "P040"))
	})
	step("prepared", func() {
		prepared := db.Session(&gorm.Session{PrepareStmt: true})
		for i := 0; i < 3; i++ {
			var product Product
			must(prepared.Where("price > ? AND opens >= ? AND weight < ?", 10.5, "01:00:00", 20).Order("sku").Offset(i).First(&product).Error)
			show(product.SKU, product.Price, product.Weight, product.Opens)
		}
	})
}

type Customer2 struct {
	ID    uint
	Email string `gorm:"size:150;not null;uniqueIndex:idx_customers_email"`
	Name  string `gorm:"type:text;not null"`
	Phone string `gorm:"size:20;default:none;index"`
	Kind  string `gorm:"type:enum('person','firm','other');default:other"`
}

func (Customer2) TableName() string { return "customers" }

func changes() {
	shown := func(table string) {
		var name, text string
		must(db.Raw("SHOW CREATE TABLE `"+table+"`").Row().Scan(&name, &text))
		show(text)
	}
	step("migrate changes", func() {
		must(db.AutoMigrate(&Customer2{}))
		shown("customers")
	})
	step("migrator", func() {
		m := db.Migrator()
		must(m.RenameColumn(&Customer2{}, "phone", "telephone"))
		must(m.AlterColumn(&Product{}, "Title"))
		must(m.DropIndex(&Product{}, "by_title"))
		must(m.CreateIndex(&Product{}, "by_title"))
		must(m.RenameIndex(&Product{}, "by_title", "by_name"))
		must(m.DropConstraint(&Customer{}, "Orders"))
		must(m.CreateConstraint(&Customer{}, "Orders"))
		must(m.DropColumn(&Customer2{}, "home_street"))
		must(m.RenameTable("comments", "remarks"))
		must(m.CreateView("cheap", gorm.ViewOption{Replace: true, Query: db.Model(&Product{}).Select("sku, price").Where("price < 10")}))
		var count int64
		must(db.Table("cheap").Count(&count).Error)
		show(count)
		must(m.DropView("cheap"))
		for _, table := range []string{"customers", "products", "orders"} {
			shown(table)
		}
	})
	step("drop", func() {
		must(db.Migrator().DropTable(&Line{}, "product_tags", &Product{}, &Order{}, &Tag{}, &Customer{}, "remarks"))
		tables, err := db.Migrator().GetTables()
		must(err)
		show(tables)
	})
}

func main() {
	host, port, user, database := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	dsn := fmt.Sprintf("%s:@tcp(%s:%s)/%s?charset=utf8mb4&parseTime=True&loc=UTC", user, host, port, database)
	var err error
	db, err = gorm.Open(mysql.New(mysql.Config{DSN: dsn, DefaultStringSize: 256}), &gorm.Config{Logger: logger.Discard, NowFunc: func() time.Time { return time.Now().UTC() }})
	must(err)
	pool, err := db.DB()
	must(err)
	pool.SetMaxOpenConns(8)
	for _, part := range []func(){schema, rows, mistakes, transactions, changes} {
		part()
	}
}

package main

import (
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
)

const canary = "canary-59d2-in-plain-text"

// Author has a key of its own making, is deleted softly, and has one card and many books.
type Author struct {
	ID        string `gorm:"type:uuid;primaryKey"`
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
	Name      string         `gorm:"size:80;not null"`
	Mail      *string        `gorm:"size:120;uniqueIndex"`
	Born      *time.Time     `gorm:"type:date"`
	Active    bool
	Card      *Card  `gorm:"constraint:OnDelete:CASCADE"`
	Books     []Book `gorm:"constraint:OnUpdate:CASCADE,OnDelete:SET NULL"`
}

// Card belongs to one author.
type Card struct {
	ID       uint
	AuthorID string `gorm:"type:uuid;uniqueIndex"`
	Number   string `gorm:"size:60"`
	Limit    float64
	Photo    []byte
}

// Book has a key that the server makes, and a version that guards its changes.
type Book struct {
	gorm.Model
	AuthorID  *string `gorm:"type:uuid;index"`
	Author    *Author
	Title     string
	Price     *string `gorm:"type:numeric(8,2)"`
	Sold      int64
	Published *time.Time
	Version   int
	Tags      []Tag `gorm:"many2many:book_tags"`
	Reviews   []Review
}

// Tag has a text as its key.
type Tag struct {
	Name string `gorm:"primaryKey;size:60"`
	Note *string
}

// wider is Tag after a change of the program.
type wider struct {
	Name  string `gorm:"primaryKey;size:60"`
	Extra *string
}

func (wider) TableName() string { return "tags" }

// Review has a key of two columns.
type Review struct {
	BookID uint   `gorm:"primaryKey;autoIncrement:false"`
	Reader string `gorm:"primaryKey;size:60"`
	Stars  int16
	Text   string
	Count  int
}

var models = []any{&Author{}, &Card{}, &Book{}, &Tag{}, &Review{}}

// BeforeUpdate is a hook as programs have it.
func (book *Book) BeforeUpdate(tx *gorm.DB) error {
	tx.Statement.SetColumn("version", book.Version+1)
	return nil
}

func text(format string, values ...any) string {
	return canary + " " + fmt.Sprintf(format, values...)
}

func key(number int) string {
	return fmt.Sprintf("59d20000-0000-4000-8000-%012d", number)
}

func pointer[T any](value T) *T { return &value }

func day(number int) *time.Time {
	return pointer(time.Date(1950+number*7, time.Month(number+1), 3, 0, 0, 0, 0, time.UTC))
}

func authors() []Author {
	made := []Author{}
	for number := 0; number < 5; number++ {
		author := Author{ID: key(number), Name: text("%s", strings.Repeat(string("abcde"[number]), 3)),
			Active: number%2 == 0}
		if number != 4 {
			author.Mail = pointer(fmt.Sprintf("%s%d@example.com", canary, number))
			author.Born = day(number)
			author.Card = &Card{Number: text("card %d", number), Limit: float64(number) * 12.5, Photo: []byte{0, byte(number)}}
		}
		made = append(made, author)
	}
	return made
}

func books() []Book {
	made := []Book{}
	for number := 0; number < 24; number++ {
		book := Book{AuthorID: pointer(key(number % 3)), Title: text("novel %d", number), Sold: int64(number) * 1000,
			Published: pointer(time.Date(2000+number%4, time.Month(number%12+1), 3, number, 0, 0, 0, time.UTC))}
		if number%5 == 0 {
			book.Title = text("Almanac 100%% of %d", number)
		}
		if number%7 != 0 {
			book.Price = pointer(fmt.Sprintf("%d.50", number))
		}
		made = append(made, book)
	}
	return made
}

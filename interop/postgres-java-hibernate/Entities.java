import jakarta.persistence.CascadeType;
import jakarta.persistence.CollectionTable;
import jakarta.persistence.Column;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Embeddable;
import jakarta.persistence.Embedded;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.Inheritance;
import jakarta.persistence.InheritanceType;
import jakarta.persistence.ManyToMany;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.FetchType;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OneToOne;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;

/** The tables, as Hibernate makes them. */
final class Entities {
    private Entities() {}

    static final List<Class<?>> ALL =
            List.of(Author.class, Card.class, Book.class, Tag.class, Payment.class, ByCard.class, InCash.class, Log.class);

    @Embeddable
    static class Address {
        String street;
        @Column(length = 10) String postcode;
    }

    /** Has a key of its own making, an embedded object, and a collection of values. */
    @Entity(name = "Author")
    @Table(name = "author", indexes = @Index(name = "author_born", columnList = "born"))
    static class Author {
        @Id UUID id;
        @Column(length = 80, nullable = false) String name;
        @Column(unique = true) String mail;
        LocalDate born;
        boolean active;
        @Embedded Address address;
        @Version int version;
        @OneToOne(mappedBy = "author", cascade = CascadeType.ALL, fetch = FetchType.LAZY) Card card;
        @OneToMany(mappedBy = "author") @OrderBy("title") List<Book> books = new ArrayList<>();
        @ElementCollection @CollectionTable(name = "author_phone") @Column(name = "phone", length = 60)
        Map<String, String> phones = new TreeMap<>();
    }

    /** Its key is that of its author's column. The server makes its own. */
    @Entity(name = "Card")
    @Table(name = "card")
    static class Card {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        String number;
        double amount;
        byte[] photo;
        @OneToOne Author author;
    }

    /** Keys come from a sequence, fifty at once. */
    @Entity(name = "Book")
    @Table(name = "book")
    static class Book {
        @Id @GeneratedValue Long id;
        @Column(nullable = false) String title;
        @Column(precision = 8, scale = 2) BigDecimal price;
        long sold;
        LocalDateTime published;
        Instant changed;
        Short stars;
        @ManyToOne(fetch = FetchType.LAZY) Author author;
        @ManyToMany Set<Tag> tags = new HashSet<>();
        @Version Integer version;
    }

    @Entity(name = "Tag")
    @Table(name = "tag")
    static class Tag {
        @Id @Column(length = 60) String name;
        String note;

        Tag() {}

        Tag(String name, String note) {
            this.name = name;
            this.note = note;
        }
    }

    /** Subclasses have tables of their own. */
    @Entity(name = "Payment")
    @Table(name = "payment")
    @Inheritance(strategy = InheritanceType.JOINED)
    abstract static class Payment {
        @Id Long id;
        @Column(precision = 10, scale = 2) BigDecimal amount;
        @ManyToOne Author payer;
    }

    @Entity(name = "ByCard")
    @Table(name = "payment_card")
    static class ByCard extends Payment {
        String holder;
    }

    @Entity(name = "InCash")
    @Table(name = "payment_cash")
    static class InCash extends Payment {
        String currency;
        Duration kept;
    }

    @Entity(name = "Log")
    @Table(name = "log")
    static class Log {
        @Id @GeneratedValue(strategy = GenerationType.UUID) UUID id;
        Instant at;
        @Column(columnDefinition = "text") String line;
    }
}

CREATE TABLE customer (
    id integer PRIMARY KEY,
    name varchar(40) NOT NULL,
    email text UNIQUE,
    born date,
    credit numeric(12, 2),
    active boolean,
    note text
);
CREATE TABLE orders (
    id bigint PRIMARY KEY,
    customer_id integer REFERENCES customer (id),
    placed timestamptz,
    total numeric(12, 2),
    status varchar(12),
    quantity smallint,
    paid boolean
);
CREATE TABLE item (
    order_id bigint REFERENCES orders (id),
    number integer,
    product text,
    price numeric(10, 2),
    weight double precision,
    made timestamp,
    code char(6),
    PRIMARY KEY (order_id, number)
);

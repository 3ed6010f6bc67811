//! Rules for columns before MariaDB and MySQL: answers are those of plain tables of the same
//! server, what is sent is sealed, and what cannot be done is refused.

mod altered;
mod asked;
mod bits;
mod bulk;
mod by_collation;
mod by_finisher;
mod calculated;
mod canary;
mod capitals;
mod decimals;
mod defaults;
mod differential;
mod drawn;
mod dump;
mod elsewhere;
mod enums;
mod floats;
mod grouped;
mod guarded;
mod inserted;
mod joined;
mod lab;
mod loaded;
mod refusals;
mod rounded;
mod sent_by_drivers;
mod sessions;
mod sets;
mod shapes;
mod shown;
mod sizes;
mod times;
mod types;
mod years;
mod zoned;

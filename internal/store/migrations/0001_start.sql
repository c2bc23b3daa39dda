-- What the instance itself remembers, and how often things have changed.
create table settings (
    name  text primary key,
    value text not null
);

create table revisions (
    topic    text primary key,
    revision bigint not null
);

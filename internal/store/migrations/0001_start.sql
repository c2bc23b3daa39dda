-- Settings of the instance, and revisions of topics.
create table settings (
    name  text primary key,
    value text not null
);

create table revisions (
    topic    text primary key,
    revision bigint not null
);

-- Providers that were connected in the dashboard or on the command line. options is a JSON object. Their credentials are in the table
-- credentials, under the same name.
create table providers (
    name       text collate "C" primary key,
    vendor     text collate "C" not null,
    format     text collate "C" not null,
    base_url   text not null,
    options    text not null,
    free       bigint not null,
    created_by text collate "C" not null,
    created_at bigint not null
);

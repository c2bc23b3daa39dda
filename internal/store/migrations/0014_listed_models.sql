-- The models that providers list themselves. missed counts the complete lists in a row that lack the model.
create table listed_models (
    provider   text collate "C" not null,
    model      text collate "C" not null,
    first_seen bigint not null,
    last_seen  bigint not null,
    missed     bigint not null,
    primary key (provider, model)
);

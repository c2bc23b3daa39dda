-- Identities at identity providers, each linked to one account. refresh is the refresh token, encrypted. The sessions of an identity are
-- valid until checked_until, the end of the provider's last confirmation. A replica sets claimed_until before it checks the identity, so
-- that a refresh token is used once.
create table identities (
    issuer        text collate "C" not null,
    subject       text collate "C" not null,
    account_id    text collate "C" not null references accounts (id) on delete cascade,
    refresh       bytea not null,
    checked_at    bigint not null,
    checked_until bigint not null,
    claimed_until bigint not null,
    created_at    bigint not null,
    primary key (issuer, subject)
);

create unique index identities_account on identities (account_id, issuer);
create index identities_checked on identities (issuer, checked_at);

-- The identity provider that signed a session in; empty for a password.
alter table sessions add column issuer text not null default '';

-- What granted a membership: empty for an invitation or registration, group for a group of the identity provider.
alter table members add column source text not null default '';

create index keys_creator on keys (created_by);

-- Second factors of accounts. sealed is the shared secret, encrypted. confirmed_at is 0 until the first code was entered. last_step is the
-- time step of the newest accepted code.
create table second_factors (
    account_id   text collate "C" primary key references accounts (id) on delete cascade,
    sealed       bytea not null,
    confirmed_at bigint not null,
    last_step    bigint not null,
    created_at   bigint not null
);

-- Unused recovery codes, as keyed hashes.
create table recovery_codes (
    account_id text collate "C" not null references accounts (id) on delete cascade,
    hash       bytea not null,
    primary key (account_id, hash)
);

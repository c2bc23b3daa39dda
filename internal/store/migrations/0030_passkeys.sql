-- Passkeys of accounts. public_key is a COSE key. flags are the authenticator flags of the last response. site_id is the host that the
-- passkey is bound to.
create table passkeys (
    id            text collate "C" primary key,
    account_id    text collate "C" not null references accounts (id) on delete cascade,
    name          text not null,
    site_id       text not null,
    credential_id bytea not null,
    public_key    bytea not null,
    transports    text not null,
    flags         bigint not null,
    sign_count    bigint not null,
    created_at    bigint not null,
    last_used_at  bigint not null
);

create unique index passkeys_credential on passkeys (credential_id);
create index passkeys_account on passkeys (account_id, created_at);

-- Hashes of answered challenges, kept until they expire, so that every challenge is accepted once.
create table passkey_challenges (
    hash       bytea primary key,
    expires_at bigint not null
);

create index passkey_challenges_expiry on passkey_challenges (expires_at);

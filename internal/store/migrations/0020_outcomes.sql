-- Verdicts of comparisons are outcomes like ratings and signals: other is the model whose response was compared, and the score is 1 if
-- the response of model was better, 0.5 for a tie and 0 if it was worse.
alter table ratings add column other text collate "C" not null default '';

-- Whether and how a workspace learns from outcomes. A workspace without a row has the defaults.
create table learning_settings (
    workspace_id text collate "C" primary key references workspaces (id) on delete cascade,
    disabled     bigint not null,
    explore      double precision not null,
    floor        double precision not null
);

-- The client software of a request, so that the log can be filtered by it. Earlier entries keep it in their summary only. SQLite uses the
-- length only to estimate the size of a row: with wider rows, it would count requests by other indexes, out of order.
-- only: postgres
alter table requests add column client text not null default '';
-- only: sqlite
alter table requests add column client char(1) not null default '';

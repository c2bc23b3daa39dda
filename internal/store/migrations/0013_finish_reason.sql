-- The finish reason of a request, so that the log can be filtered by it. Earlier entries keep it in their summary only.
alter table requests add column finish text not null default '';

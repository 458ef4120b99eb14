CREATE INDEX customer_identifier_active_idx ON customer (identifier, is_active);
CREATE UNIQUE INDEX customer_ide_cur_ia_idx ON customer (identifier, currency_code, is_active);
{{if :fks}}
CREATE INDEX entry_auto_index_fk_customer ON entry (customer_id);
CREATE INDEX entry_auto_index_fk_transaction ON entry (transaction_id);
ALTER TABLE entry ADD FOREIGN KEY (customer_id) REFERENCES customer (id);
ALTER TABLE entry ADD FOREIGN KEY (transaction_id) REFERENCES transaction (external_id);
{{end}}

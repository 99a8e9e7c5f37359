-- CASE with an operand compares documents and texts as texts, which `=` does not.
CREATE TABLE j (d JSON, t TEXT);
INSERT INTO j VALUES ('{"a": null, "b": 1, "c": "x"}', 'null'), (NULL, NULL);
SELECT CASE JSON_EXTRACT(d, '$.a') WHEN 'null' THEN 1 ELSE 2 END, JSON_EXTRACT(d, '$.a') = 'null' FROM j;
SELECT CASE JSON_EXTRACT(d, '$.a') WHEN 'null' THEN NULL ELSE JSON_UNQUOTE(JSON_EXTRACT(d, '$.a')) END FROM j;
SELECT CASE JSON_EXTRACT(d, '$.b') WHEN 'null' THEN NULL ELSE JSON_UNQUOTE(JSON_EXTRACT(d, '$.b')) END FROM j;
SELECT CASE JSON_EXTRACT(d, '$.b') WHEN '1' THEN 1 ELSE 2 END, CASE JSON_EXTRACT(d, '$.b') WHEN 1 THEN 1 ELSE 2 END FROM j;
SELECT CASE JSON_EXTRACT(d, '$.c') WHEN 'x' THEN 1 WHEN '"x"' THEN 2 ELSE 3 END FROM j;
SELECT CASE JSON_EXTRACT(d, '$.c') WHEN '"X"' THEN 1 WHEN NULL THEN 2 ELSE 3 END FROM j;
SELECT CASE t WHEN JSON_EXTRACT(d, '$.a') THEN 1 ELSE 2 END FROM j;
SELECT CASE JSON_EXTRACT(d, '$.a') WHEN JSON_EXTRACT(d, '$.a') THEN 1 ELSE 2 END FROM j;
SELECT CASE JSON_EXTRACT(d, '$.a') WHEN t THEN 1 ELSE 2 END FROM j;
SELECT COUNT(columns.table_name) > 1 FROM information_schema.columns;
SELECT COUNT(information_schema.Columns.table_name) > 1 FROM information_schema.Columns;
SELECT COUNT(columns.table_name) > 1 FROM information_schema.COLUMNS;

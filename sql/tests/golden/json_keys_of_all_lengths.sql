-- Keys of objects are in the order of their lengths, then of their bytes: changes find them all.
SELECT JSON_SET('{"b":1,"ab":1}', '$.ab', 2), JSON_SET('{"name":1,"id":1,"title":5,"age":9}', '$.age', 2, '$.id', 3, '$.title', 4, '$.name', 5);
SELECT JSON_REPLACE('{"b":1,"ab":1,"aaa":1}', '$.aaa', 2), JSON_REMOVE('{"b":1,"ab":1,"aaa":1}', '$.ab'), JSON_REMOVE('{"b":1,"ab":{"z":1,"yy":2}}', '$.ab.yy');
SELECT JSON_ARRAY_APPEND('{"b":1,"ab":[1]}', '$.ab', 2), JSON_ARRAY_INSERT('{"b":1,"ab":[1]}', '$.ab[0]', 2), JSON_INSERT('{"b":{"c":1},"ab":{"cd":1}}', '$.ab.b', 2, '$.ab.cd', 3);
SELECT JSON_MERGE_PATCH('{"b":1,"ab":1,"aaa":{"x":1}}', '{"ab":null,"aaa":{"xx":2,"x":null}}'), JSON_MERGE_PRESERVE('{"b":1,"ab":1}', '{"ab":2,"b":3}');
CREATE TABLE t (id INT PRIMARY KEY, j JSON);
INSERT INTO t VALUES (1, '{"name": "a", "id": 1, "title": 5, "age": 9, "z": 1, "aa": 2}');
UPDATE t SET j = JSON_SET(j, '$.age', 10, '$.aa', 3, '$.z', 4), j = JSON_REMOVE(j, '$.id');
SELECT j FROM t;
DROP TABLE t;

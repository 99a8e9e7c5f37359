-- STR_TO_DATE: short years, weeks, halves of days, classes of characters.
SELECT STR_TO_DATE('1-2-20', '%d-%m-%Y'), STR_TO_DATE('1-2-70', '%d-%m-%Y'), STR_TO_DATE('1-2-020', '%d-%m-%Y');
SELECT STR_TO_DATE('1-2-5', '%d-%m-%Y'), STR_TO_DATE('1-2-5', '%d-%m-%y'), STR_TO_DATE('20200102', '%Y%m%d');
SELECT STR_TO_DATE('200442 Monday', '%X%V %W'), STR_TO_DATE('200442 Sunday', '%X%V %W'), STR_TO_DATE('200401 Thu', '%x%v %a');
SELECT STR_TO_DATE('200442 Monday', '%x%v %W'), STR_TO_DATE('2004 42 3', '%Y %U %w'), STR_TO_DATE('2004 42 0', '%Y %u %w');
SELECT STR_TO_DATE('2004 0 Friday', '%Y %U %W'), STR_TO_DATE('2004 53 Friday', '%Y %u %W'), STR_TO_DATE('2005 0 Friday', '%Y %u %W');
SELECT STR_TO_DATE('2004 42', '%X %V'), STR_TO_DATE('2004 42', '%Y %U'), STR_TO_DATE('Monday', '%W');
SELECT STR_TO_DATE('2004 42 Monday', '%Y %V %W'), STR_TO_DATE('2004 42 Monday', '%X %U %W'), STR_TO_DATE('2004 42 Monday', '%X %v %W');
SELECT STR_TO_DATE('2004 0 Monday', '%X %V %W'), STR_TO_DATE('2004 54 Monday', '%Y %U %W'), STR_TO_DATE('2004 42 7', '%Y %U %w');
SELECT STR_TO_DATE('9999 53 Saturday', '%Y %U %W'), STR_TO_DATE('2004 366', '%Y %j'), STR_TO_DATE('2004 0', '%Y %j');
SELECT STR_TO_DATE('PM', '%p'), STR_TO_DATE('10 PM', '%H %p'), STR_TO_DATE('10 PM', '%h %p'), STR_TO_DATE('PM 10', '%p %h');
SELECT STR_TO_DATE('12 AM', '%h %p'), STR_TO_DATE('12 pm', '%I %p'), STR_TO_DATE('0 pm', '%I %p'), STR_TO_DATE('13', '%l');
SELECT STR_TO_DATE('10:11:12 PM', '%r'), STR_TO_DATE('10:11:12PM', '%r'), STR_TO_DATE('22:11:12', '%T'), STR_TO_DATE('22:11', '%T');
SELECT STR_TO_DATE('abc,;2020-01-02', '%@%.%Y-%m-%d'), STR_TO_DATE('123x5', '%#x%d'), STR_TO_DATE('5', '%@%d');
SELECT STR_TO_DATE('%2020', '%%%Y'), STR_TO_DATE('1%', '%d%'), STR_TO_DATE('1', '%q'), STR_TO_DATE('x', '%d');
SELECT STR_TO_DATE('May 1, 2013','%M %d,%Y'), STR_TO_DATE('a09:30:17','a%h:%i:%s'), STR_TO_DATE('09:30:17a','%h:%i:%s');
SELECT STR_TO_DATE('1st March 2020', '%D %M %Y'), STR_TO_DATE('2020-02-30', '%Y-%m-%d'), STR_TO_DATE('-5', '%d'), STR_TO_DATE('.5', '.%f');

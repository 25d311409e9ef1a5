-- How many headlines the first site had in each hour, every five minutes.
SELECT count(*) AS headlines
FROM hankook [RANGE 1 HOUR SLIDE 5 MINUTES]

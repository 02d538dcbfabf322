/*
 * show.h - numbers as a person reads them.
 *
 * Each function writes into the caller's buffer, of SHOW_MAX bytes, and returns it.
 */
#ifndef SHOW_H
#define SHOW_H

#include <stdint.h>

#define SHOW_MAX 32

/* 1234567 as "1,234,567". */
char *show_count(char *buf, uint64_t n);

/* Bytes with three digits and a unit of a power of 1024: "999 B", "1.21 KiB", "12.1 MiB", "1012 GiB". */
char *show_size(char *buf, uint64_t bytes);

/* So many a second; with a digit more where there are few: "12,345", "9.5". */
char *show_rate(char *buf, double per_second);

/* A time in three digits: "823 ns", "1.24 ms", "12.4 s", "310 s". */
char *show_time(char *buf, double seconds);

/* A time to wait: "0:05", "12:34", "1:02:03", "3d 04h"; from 1,000 days on "ages". */
char *show_wait(char *buf, double seconds);

#endif

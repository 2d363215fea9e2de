import { expect, test } from 'vitest'
import { databaseFailureText } from '../../src/cli/failures.ts'

const url = 'postgresql://anna:hidden@db.example/data'

test.each([
  [
    { code: 'ENOTFOUND' },
    'PostgreSQL at db.example:5432 was not reached (ENOTFOUND): start it, or correct --database-url',
  ],
  [
    { message: 'timeout exceeded when trying to connect' },
    'PostgreSQL at db.example:5432 was not reached: start it, or correct --database-url',
  ],
  [{ code: '28P01' }, 'PostgreSQL at db.example:5432 refused the user (28P01): correct --database-url'],
  [
    { code: '3D000' },
    'PostgreSQL at db.example:5432 has no such database (3D000): create it, or correct --database-url',
  ],
  [{ code: '42P07' }, 'could not open or migrate the database (42P07); check that this user can read and write it'],
  [{ message: 'ECONNREFUSED' }, 'could not open or migrate the database; check that this user can read and write it'],
])('%o of PostgreSQL is told as what to do', (cause, text) => {
  expect(databaseFailureText(cause, url)).toBe(text)
})

test('a data file that cannot be brought up to date is told with the code', () => {
  const text = 'could not open or migrate the database (SQLITE_FULL); check that this user can read and write it'
  expect(databaseFailureText({ code: 'SQLITE_FULL' }, undefined)).toBe(text)
  for (const code of ['SQLITE_NOTADB', 'SQLITE_CORRUPT']) {
    const damaged = `the data file is damaged (${code}): restore it, or choose another path with --data`
    expect(databaseFailureText({ code }, undefined)).toBe(damaged)
  }
})

test.each([
  'postgresql://anna:12/hidden@db.example/data',
  'postgresql://anna:12#hidden@db.example/data',
  'postgresql://anna:12?hidden@db.example/data',
  'postgresql:///data',
  'postgresql://elsewhere/data?port=6',
  'postgresql://elsewhere/data?user=anna&host=/run',
  'data',
])('the place is left out where %s could be read in another way', (unclear) => {
  const text = 'PostgreSQL was not reached (ECONNREFUSED): start it, or correct --database-url'
  expect(databaseFailureText({ code: 'ECONNREFUSED' }, unclear)).toBe(text)
})

test.each([
  ['DATABASE_URL', { DATABASE_URL: url }],
  ['AGENT_SERVICE_DATABASE_URL', { AGENT_SERVICE_DATABASE_URL: url, DATABASE_URL: 'postgresql://other.example/data' }],
  ['--database-url', { DATABASE_URL: 'postgresql://other.example/data' }],
])('a failure names %s, if the URL came from it', (option, environment) => {
  const text = `PostgreSQL at db.example:5432 refused the user (28P01): correct ${option}`
  expect(databaseFailureText({ code: '28P01' }, url, environment)).toBe(text)
})

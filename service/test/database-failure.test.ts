import { expect, test } from 'vitest'
import { databaseFailureText } from '../src/cli/database-failure.ts'

const url = 'postgresql://anna:hidden@db.example/data'

test.each([
  [
    { code: 'ENOTFOUND' },
    'PostgreSQL at db.example:5432 was not reached (ENOTFOUND): start it, or correct DATABASE_URL',
  ],
  [
    { message: 'timeout exceeded when trying to connect' },
    'PostgreSQL at db.example:5432 was not reached: start it, or correct DATABASE_URL',
  ],
  [{ code: '28P01' }, 'PostgreSQL at db.example:5432 refused the user (28P01): correct DATABASE_URL'],
  [{ code: '3D000' }, 'PostgreSQL at db.example:5432 has no such database (3D000): create it, or correct DATABASE_URL'],
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
  const text = 'PostgreSQL was not reached (ECONNREFUSED): start it, or correct DATABASE_URL'
  expect(databaseFailureText({ code: 'ECONNREFUSED' }, unclear)).toBe(text)
})

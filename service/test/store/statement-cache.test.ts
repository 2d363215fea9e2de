import Database from 'libsql'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cachingStatements } from '../../src/store/database.ts'

// About libSQL itself, whichever database the rest of the suite runs on.

let prepared: string[]
let database: ReturnType<typeof cachingStatements>
beforeEach(() => {
  const real = new Database(':memory:')
  real.exec('create table words (word text primary key)')
  prepared = []
  database = cachingStatements({
    prepare(text) {
      prepared.push(text)
      return real.prepare(text)
    },
    close: () => real.close(),
  })
})
afterEach(() => database.close())

const insert = 'insert into words (word) values (?)'
const select = 'select word from words where word = ?'

test('a text is prepared once, however often it runs', () => {
  for (const word of ['one', 'two', 'three']) database.prepare(insert).run([word])
  for (const word of ['one', 'two', 'three']) expect(database.prepare(select).all([word])).toEqual([{ word }])
  expect(prepared).toEqual([insert, select])
  expect({ insert: database.prepare(insert).reader, select: database.prepare(select).reader }).toEqual({
    insert: false,
    select: true,
  })
})

test('a statement that failed works again, and what it began is not left open', () => {
  database.prepare(insert).run(['one'])
  database.prepare('begin').run([])
  expect(() => database.prepare(insert).run(['one'])).toThrow(/UNIQUE/)
  database.prepare('rollback').run([])
  database.prepare('begin').run([])
  database.prepare(insert).run(['two'])
  database.prepare('commit').run([])
  expect(database.prepare('select count(*) as n from words').all([])).toEqual([{ n: 2 }])
})

test('a table that changes changes what a kept statement returns', () => {
  database.prepare(insert).run(['one'])
  expect(database.prepare('select * from words').all([])).toEqual([{ word: 'one' }])
  database.prepare('alter table words add column length integer default 3').run([])
  expect(database.prepare('select * from words').all([])).toEqual([{ word: 'one', length: 3 }])
})

test('at most 200 texts are kept; the oldest gives way', () => {
  for (let number = 0; number <= 200; number++) database.prepare(`select ${number}`).all([])
  const before = prepared.length
  database.prepare('select 200').all([])
  expect(prepared).toHaveLength(before)
  database.prepare('select 0').all([])
  expect(prepared).toHaveLength(before + 1)
})

/** How many expired records one statement removes, so that it ends soon. */
const maxSweptRecords = 1_000

type Statement =
  | 'create'
  | 'read'
  | 'write'
  | 'writeWhileOwned'
  | 'removeIf'
  | 'removeWhileOwned'
  | 'acquire'
  | 'renew'
  | 'sweep'

export type Statements = Readonly<Record<Statement, string>>

/**
 * Returns the statements for one table, whose name was checked. A lock is a row too: its value is the owner, and it expires with
 * the lease. All times are of the database's clock. Each change returns a row if it took place. A sweep removes some expired rows
 * (`maxSweptRecords`, 1,000).
 */
export function statementsFor(table: string): Statements {
  const name = table.split('.').at(-1)
  const t = table
    .split('.')
    .map((part) => `"${part}"`)
    .join('.')
  const inMs = (parameter: string): string => `clock_timestamp() + ${parameter}::float8 * interval '1 millisecond'`
  // The row stays locked until the statement has ended, so that no other process takes over the lock before then.
  const owned = (lock: string, owner: string): string =>
    `with owned as (select 1 from ${t} where key = ${lock} and value = ${owner} for update)`
  const replace = 'on conflict (key) do update set value = excluded.value, expires_at = excluded.expires_at'
  return {
    create: `create table if not exists ${t} (key text collate "C" primary key, value text not null, expires_at timestamptz);
create index if not exists "${name}_expires_at" on ${t} (expires_at)`,
    read: `select value from ${t} where key = $1 and (expires_at is null or expires_at > clock_timestamp())`,
    write: `insert into ${t} (key, value, expires_at) values ($1, $2, ${inMs('$3')}) ${replace} returning 1`,
    writeWhileOwned: `${owned('$4', '$5')}
insert into ${t} (key, value, expires_at) select $1, $2, ${inMs('$3')} from owned ${replace} returning 1`,
    removeIf: `delete from ${t} where key = $1 and value = $2 returning 1`,
    removeWhileOwned: `${owned('$2', '$3')}, removed as (delete from ${t} where key = $1 and exists (select from owned)) select 1 from owned`,
    acquire: `insert into ${t} as lock (key, value, expires_at) values ($1, $2, ${inMs('$3')})
${replace} where lock.expires_at <= clock_timestamp() returning 1`,
    renew: `update ${t} set expires_at = ${inMs('$3')} where key = $1 and value = $2 returning 1`,
    sweep: `delete from ${t} where key in
(select key from ${t} where expires_at <= clock_timestamp() limit ${maxSweptRecords} for update skip locked)`,
  }
}

import {
  type ExpressionBuilder,
  type ExpressionWrapper,
  type RawBuilder,
  type Selectable,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import { type Db, partsOf, queryTraitsOf, type RawDatabase, rawDatabase, transact } from './database.ts'
import type { ContextGroupTable, LlmModelTable, ParentAgentTable, Tables } from './schema.ts'

/** A search whose columns were checked against an allow-list. */
export interface Search<Column extends string> {
  limit: number
  offset: number
  searchValue: string | undefined
  filter: Filter<Column>
  sort: SortKey<Column>[]
}

export type Filter<Column extends string> =
  | { kind: 'equals'; column: Column; value: string | number }
  | { kind: 'all' | 'any'; filters: Filter<Column>[] }

export interface SortKey<Column extends string> {
  column: Column
  direction: 'asc' | 'desc'
}

export interface Found<Row> {
  rows: Row[]
  count: number
}

type SearchedTable = 'parent_agents' | 'llm_models'
type Condition = ExpressionWrapper<Tables, SearchedTable, SqlBool>

/**
 * Finds the ids of one page and the count of all hits, by scans of the rows of one tenant. Without an order, or among equals, rows come by
 * id.
 */
async function searchTenant<Column extends string>(
  db: RawDatabase,
  { table, tenantId, search }: { table: SearchedTable; tenantId: string; search: Search<Column> },
): Promise<Found<number>> {
  const { searchValue, filter, sort, limit, offset } = search
  const hits = db
    .selectFrom(table)
    .where('tenant_id', '=', tenantId)
    .where((where) => conditionOf(where, filter))
    // The text is last, because it costs most.
    .$if(searchValue !== undefined, (rows) => rows.where(positionOf(searchValue ?? '', db), '>', 0))
  const sorted = sort.reduce((rows, { column, direction }) => rows.orderBy(columnOf(column), direction), hits)
  const page = await sorted.select('id').orderBy('id').limit(limit).offset(offset).execute()
  // A page with room left says how many there are, unless it begins beyond the last one.
  const isLast = page.length < limit && (page.length > 0 || offset === 0)
  return { rows: page.map(({ id }) => id), count: isLast ? offset + page.length : await countOf(hits) }
}

async function countOf(rows: SelectQueryBuilder<Tables, SearchedTable, object>): Promise<number> {
  const { count } = await rows.select((select) => select.fn.countAll().as('count')).executeTakeFirstOrThrow()
  return Number(count)
}

/** Searches literal text. LIKE would need escapes, and its time can grow with the product of both lengths. */
function positionOf(searchValue: string, db: RawDatabase): RawBuilder<number> {
  return sql<number>`${sql.raw(queryTraitsOf(db).textPosition)}(search_text, ${foldCase(searchValue)})`
}

function conditionOf<Column extends string>(
  where: ExpressionBuilder<Tables, SearchedTable>,
  filter: Filter<Column>,
): Condition {
  if (filter.kind === 'equals') return where(columnOf(filter.column), '=', filter.value)
  const parts = filter.filters.map((part) => conditionOf(where, part))
  return filter.kind === 'all' ? where.and(parts) : where.or(parts)
}

/** Maps the one column that the API calls by another name. */
function columnOf(column: string): RawBuilder<string | number> {
  return sql.ref<string | number>(column === 'tenant' ? 'tenant_id' : column)
}

/** No search finds it, because `foldCase` replaces the line breaks of fields and of search values. */
const betweenFields = '\n'
/** Stands for a line break. No letter becomes it, because `foldCase` makes letters small before. */
const lineBreak = '\u00c0'

/**
 * Returns the text of a row in which a search looks for its value. It is folded here, because databases fold letters differently. Stored
 * rows have it, so a change needs a migration.
 */
function searchTextOf(fields: string[]): string {
  return fields.map(foldCase).join(betweenFields)
}

/** Folds a text to lower case in NFC. Σ becomes σ everywhere, because a search value can end in the middle of a word. */
function foldCase(text: string): string {
  return text.toLowerCase().normalize('NFC').replaceAll('ς', 'σ').replaceAll('\n', lineBreak)
}

/**
 * Returns the key of a name: each space as an underscore, in lower case without a locale (specification 2.2), and
 * in NFC, because two spellings that look the same are one name.
 */
export function keyOf(name: string): string {
  return name.replaceAll(' ', '_').toLowerCase().normalize('NFC')
}

export type ContextGroupRow = Selectable<ContextGroupTable>
export type NewContextGroup = Omit<ContextGroupRow, 'id' | 'tenant_id' | 'agent_id' | 'position'>

/** The context variable groups of one tenant's agents. */
interface ContextGroups {
  ofAgent(agentId: number): Promise<ContextGroupRow[]>
  create(agents: { agentId: number; groups: readonly NewContextGroup[] }[]): Promise<void>
}

function contextGroupsOf(db: RawDatabase, tenantId: string): ContextGroups {
  const own = db.selectFrom('context_groups').where('tenant_id', '=', tenantId)
  return {
    ofAgent: (agentId) => own.selectAll().where('agent_id', '=', agentId).orderBy('position').execute(),
    async create(agents) {
      const rows = agents.flatMap(({ agentId, groups }) =>
        groups.map((group, position) => ({ ...group, tenant_id: tenantId, agent_id: agentId, position })),
      )
      for (const part of partsOf(rows)) await db.insertInto('context_groups').values(part).execute()
    },
  }
}

type LlmModelRow = Selectable<LlmModelTable>
export type LlmModelColumn = 'id' | 'model_name' | 'model_version' | 'provider'
export type NewLlmModel = Pick<LlmModelRow, 'model_name' | 'model_version' | 'provider'>

/** The models that agents of one tenant can be assigned. */
interface LlmModels {
  search(search: Search<LlmModelColumn>): Promise<Found<LlmModelRow>>
  createAll(models: (NewLlmModel & { id?: number })[]): Promise<void>
  /** Returns the first model of the tenant, which a new agent gets. */
  firstId(): Promise<number>
}

function llmModelsOf(db: RawDatabase, tenantId: string): LlmModels {
  const own = db.selectFrom('llm_models').where('tenant_id', '=', tenantId)
  return {
    async search(search) {
      const { rows: ids, count } = await searchTenant(db, { table: 'llm_models', tenantId, search })
      const rows = ids.length === 0 ? [] : await own.selectAll().where('id', 'in', ids).execute()
      return { rows: inOrder(rows, ids), count }
    },
    async createAll(models) {
      const rows = models.map((model) => {
        const search_text = searchTextOf([model.model_name, model.model_version, model.provider])
        return { ...model, tenant_id: tenantId, search_text }
      })
      for (const part of partsOf(rows)) await db.insertInto('llm_models').values(part).execute()
    },
    firstId: async () => (await own.select('id').orderBy('id').limit(1).executeTakeFirstOrThrow()).id,
  }
}

type NewAgentRow = Omit<Selectable<ParentAgentTable>, 'id' | 'tenant_id' | 'agent_key' | 'search_text' | 'name_as_sent'>
export type NewParentAgent = NewAgentRow & { id?: number }
export type ParentAgentRow = Omit<Selectable<ParentAgentTable>, 'name_as_sent' | 'search_text'> & {
  llm_model_name: string
}
export type ParentAgentColumn =
  | 'active'
  | 'agent_key'
  | 'agent_name'
  | 'id'
  | 'llm_model'
  | 'parent_agent_type_key'
  | 'tenant'

/** The agents of one tenant. */
interface ParentAgents {
  search(search: Search<ParentAgentColumn>): Promise<Found<ParentAgentRow>>
  /** Returns undefined if the tenant has an agent with this key already. */
  create(agent: NewParentAgent): Promise<ParentAgentRow | undefined>
  /** Adds agents whose keys are new, and returns their ids. */
  createAll(agents: readonly NewParentAgent[]): Promise<number[]>
  has(id: number): Promise<boolean>
  count(): Promise<number>
}

/** What a response needs. The search text can be as long as the rest of the row. */
const readColumns = [
  ...(['id', 'tenant_id', 'parent_agent_type', 'parent_agent_type_key', 'agent_key', 'name_as_sent'] as const),
  ...(['full_display_name', 'display_name', 'description', 'configs', 'llm_model', 'active'] as const),
  ...(['state_function', 'created_ms'] as const),
]

function parentAgentsOf(db: RawDatabase, tenantId: string): ParentAgents {
  const own = db.selectFrom('parent_agents').where('parent_agents.tenant_id', '=', tenantId)
  async function read(ids: readonly number[]): Promise<ParentAgentRow[]> {
    if (ids.length === 0) return []
    const rows = await own
      .innerJoin('llm_models', 'llm_models.id', 'parent_agents.llm_model')
      .select(readColumns.map((column) => `parent_agents.${column}` as const))
      .select(['parent_agents.name_as_sent as agent_name', 'llm_models.model_name as llm_model_name'])
      .where('parent_agents.id', 'in', ids)
      .execute()
    return inOrder(rows, ids)
  }
  async function createAll(agents: readonly NewParentAgent[]): Promise<number[]> {
    const rows = agents.map((agent) => {
      const { agent_name: name, display_name, description } = agent
      const key = keyOf(name)
      const search_text = searchTextOf([name, key, display_name, description])
      const names = { agent_name: name.normalize('NFC'), name_as_sent: name, agent_key: key }
      return { ...agent, ...names, tenant_id: tenantId, search_text }
    })
    const created: number[] = []
    for (const part of partsOf(rows)) {
      const insert = db.insertInto('parent_agents').values(part).returning('id')
      const isNew = insert.onConflict((conflict) => conflict.columns(['tenant_id', 'agent_key']).doNothing())
      created.push(...(await isNew.execute()).map(({ id }) => id))
    }
    return created
  }
  return {
    createAll,
    async search(search) {
      const { rows: ids, count } = await searchTenant(db, { table: 'parent_agents', tenantId, search })
      return { rows: await read(ids), count }
    },
    create: async (agent) => (await read(await createAll([agent])))[0],
    has: async (id) => (await own.select('id').where('id', '=', id).executeTakeFirst()) !== undefined,
    count: () => countOf(own),
  }
}

/** Returns rows in the order of these ids. */
function inOrder<Row extends { id: number }>(rows: readonly Row[], ids: readonly number[]): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/**
 * The data of one tenant. A call of the API gets the tenant of its bearer token, and no other store. Each read of agents, models and
 * context groups begins with the rows of the tenant.
 */
export interface TenantStore {
  readonly tenantId: string
  readonly agents: ParentAgents
  readonly models: LlmModels
  readonly contextGroups: ContextGroups
  /**
   * Runs `task` in a transaction, all or nothing. After a conflict it runs again, so a task must have no effect outside of its
   * transaction.
   */
  transact<Value>(task: (tenant: TenantStore) => Promise<Value>): Promise<Value>
}

/** Returns the data of one tenant on a connection or in an open transaction. */
export function tenantStore(db: Db, tenantId: string): TenantStore {
  const raw = rawDatabase(db)
  return {
    tenantId,
    agents: parentAgentsOf(raw, tenantId),
    models: llmModelsOf(raw, tenantId),
    contextGroups: contextGroupsOf(raw, tenantId),
    transact: (task) => transact(db, (tx) => task(tenantStore(tx, tenantId))),
  }
}

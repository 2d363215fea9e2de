/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/environment.ts'
import { showPage } from '../../ui/layout.tsx'
import type { OpenApiDocument, OpenApiOperation } from '../document.ts'
import type { JsonSchema } from '../schemas.ts'

/** Shows the OpenAPI document as one page, without a script and without content of other origins. */
export function showApiDocs(c: Context<HttpEnvironment>, document: OpenApiDocument): Promise<Response> {
  const { info, servers, paths, components } = document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  )
  const children = (
    <>
      <p>{info.description}</p>
      <p>
        Version {info.version} at <code>{servers[0]?.url}</code>, as a document:{' '}
        <a href="/openapi.json">openapi.json</a>
      </p>
      <h2>Endpoints</h2>
      {operations.map(({ name, operation }) => (
        <OperationCard name={name} operation={operation} />
      ))}
      <h2>Bodies</h2>
      {Object.entries(components.schemas).map(([name, schema]) => (
        <section id={name}>
          <h3>{name}</h3>
          {schema.description === undefined ? null : <p>{schema.description}</p>}
          <Members schema={schema} />
        </section>
      ))}
    </>
  )
  return showPage(c, { status: 200, title: 'API description', width: 'wide', children })
}

function OperationCard({ name, operation }: { name: string; operation: OpenApiOperation }) {
  const body = operation.requestBody?.content['application/json'].schema
  return (
    <section id={operation.operationId}>
      <h3>
        <code>{name}</code>
      </h3>
      <p>
        {operation.summary}. {operation.description}
      </p>
      {body === undefined ? null : (
        <p>
          Body: <TypeOf schema={body} />
        </p>
      )}
      <table>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Meaning</th>
            <th scope="col">Body</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(operation.responses).map(([status, { description, content }]) => (
            <tr>
              <th scope="row">{status}</th>
              <td data-column="Meaning">{description}</td>
              <td data-column="Body">
                <TypeOf schema={content['application/json'].schema} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Members({ schema }: { schema: JsonSchema }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Member</th>
          <th scope="col">Type</th>
          <th scope="col">Notes</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(schema.properties ?? {}).map(([name, member]) => (
          <tr>
            <th scope="row">
              <code>{name}</code>
            </th>
            <td>
              <TypeOf schema={schemaOf(member)} />
            </td>
            <td class="soft">{notesOf(schemaOf(member), schema.required?.includes(name) ? 'required' : 'optional')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function TypeOf({ schema }: { schema: JsonSchema }) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1)
    return <a href={`#${name}`}>{name}</a>
  }
  if (schema.type === 'array') {
    return (
      <>
        array of <TypeOf schema={schemaOf(schema.items)} />
      </>
    )
  }
  if (schema.properties !== undefined) return <Members schema={schema} />
  if (schema.anyOf !== undefined) {
    return (
      <>
        {schema.anyOf.map((option, index) => (
          <>
            {index === 0 ? '' : ' or '}
            <TypeOf schema={schemaOf(option)} />
          </>
        ))}
      </>
    )
  }
  if (schema.enum !== undefined) return <>{schema.enum.join(', ')}</>
  return <>{schema.const === undefined ? [schema.type ?? 'any'].flat().join(' or ') : String(schema.const)}</>
}

/** Returns the schema, or an empty one for `true` or an absent schema, which allow any value. */
function schemaOf(schema: unknown): JsonSchema {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) ? (schema as JsonSchema) : {}
}

function notesOf(schema: JsonSchema, presence: 'required' | 'optional'): string {
  const facts = [
    presence === 'required' ? 'required' : undefined,
    schema.minimum === undefined ? undefined : `from ${schema.minimum}`,
    schema.maximum === undefined ? undefined : `to ${schema.maximum}`,
    schema.minLength === undefined ? undefined : `at least ${schema.minLength} character`,
    schema.maxLength === undefined ? undefined : `at most ${schema.maxLength} characters`,
    schema.default === undefined ? undefined : `default ${JSON.stringify(schema.default)}`,
    schema.description,
  ]
  return facts.filter((fact) => fact !== undefined).join(', ')
}

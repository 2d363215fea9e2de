import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { fetchExchange, Client as UrqlClient } from '@urql/core'
import { EventSource } from 'eventsource'

type Fetch = typeof globalThis.fetch

/** One call with each client that takes a `fetch`. Returns the text of the response. */
export const calls: Readonly<Record<string, (fetch: Fetch, url: string) => Promise<unknown>>> = {
  async 'Apollo Client'(fetch, uri) {
    const client = new ApolloClient({ link: new HttpLink({ uri, fetch }), cache: new InMemoryCache() })
    const { data } = await client.query<{ hello: string }>({ query: gql('{ hello }') })
    return data?.hello
  },
  async urql(fetch, url) {
    const client = new UrqlClient({ url, fetch, exchanges: [fetchExchange] })
    const { data, error } = await client.query<{ hello: string }>('{ hello }', {})
    return data?.hello ?? error
  },
  async 'MCP SDK'(fetch, url) {
    const client = new McpClient({ name: 'app', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch }))
    const name = client.getServerVersion()?.name
    await client.close()
    return name
  },
  'the package eventsource': (fetch, url) =>
    new Promise((resolve, reject) => {
      const events = new EventSource(url, { fetch })
      events.onmessage = ({ data }) => {
        events.close()
        resolve(data)
      }
      events.onerror = ({ message }) => reject(new Error(message))
    }),
}

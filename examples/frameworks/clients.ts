import type { Session } from 'agent-auth'
import axios, { type AxiosError, type AxiosInstance } from 'axios'
import { type $Fetch, createFetch } from 'ofetch'

type Fetch = typeof globalThis.fetch

export const axiosOf = (fetch: Fetch, baseURL: string): AxiosInstance =>
  axios.create({ baseURL, adapter: 'fetch', env: { fetch } })

export const ofetchOf = (fetch: Fetch, baseURL: string): $Fetch =>
  createFetch({ fetch, Headers, AbortController }).create({ baseURL })

/** For an axios with another adapter, for example because of upload progress. */
export function axiosWithInterceptors(session: Session, baseURL: string): AxiosInstance {
  const api = axios.create({ baseURL, allowAbsoluteUrls: false }) // the token goes to baseURL alone
  api.interceptors.request.use(async (config) => {
    config.headers.set('Authorization', `Bearer ${await session.getAccessToken()}`)
    return config
  })
  api.interceptors.response.use(undefined, async (error: AxiosError) => {
    const { config, response } = error
    if (!config || response?.status !== 401) throw error
    const rejected = String(config.headers.get('Authorization')).slice('Bearer '.length)
    config.headers.set('Authorization', `Bearer ${await session.getAccessToken({ rejected })}`)
    return axios.request(config) // sends it again once, because axios itself has no interceptors
  })
  return api
}

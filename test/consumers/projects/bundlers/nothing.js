import { createAuthConfig } from 'agent-auth'
import { createAgentApi } from 'agent-auth/api'
import { createBackendClient } from 'agent-auth/backend/client'
import { createBrowserAuth } from 'agent-auth/browser'
import { AuthProvider } from 'agent-auth/react'

// None of them is called.
const _unused = () => [createAuthConfig, createAgentApi, createBackendClient, createBrowserAuth, AuthProvider]

export const rest = 1

/** @jsxImportSource react */
import { useAuth } from 'agent-auth/react'
import { countOpenTabs } from 'example-common/open-tabs.ts'
import { timeLeft } from 'example-common/time-left.ts'
import { type ReactElement, useEffect, useState } from 'react'

/** The time left and the number of tabs, live. */
export function SessionPanel(): ReactElement {
  const { state } = useAuth()
  const [tabs, setTabs] = useState(1)
  const [, tick] = useState(0)
  useEffect(() => countOpenTabs(setTabs), [])
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 500)
    return () => clearInterval(timer)
  }, [])
  return (
    <section>
      <h2>Session</h2>
      <dl>
        <dt>Token ends in</dt>
        <dd>{timeLeft(state.expiresAtMs)}</dd>
        <dt>Open tabs</dt>
        <dd>{tabs}</dd>
      </dl>
    </section>
  )
}

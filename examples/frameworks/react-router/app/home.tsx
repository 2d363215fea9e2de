import type { ReactElement } from 'react'

export default function Home(): ReactElement {
  return (
    <p>
      <a href="/models">Models</a>
    </p>
  )
}

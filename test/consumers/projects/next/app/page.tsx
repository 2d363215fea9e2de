import type { ReactElement } from 'react'
import { Page } from './door'

export default function Home(): ReactElement {
  return <Page />
}

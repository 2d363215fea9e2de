import type { Client } from '../../src/index.ts'
import { authorize, Browser, clientOf, exchange, type Service } from './login.ts'
import { unlessTooBusy } from './too-busy.ts'

const parallel = 50

/**
 * Redeems one code fifty times at once, `rounds` times over. The codes are those of one `browser`.
 *
 * @returns How many of the fifty succeeded in each round, and the answers that were neither success nor invalid_grant.
 */
export async function redeemTogether(
  service: Service,
  {
    rounds,
    browser = new Browser(service.fetch),
    onRound,
  }: { rounds: number; browser?: Browser; onRound?: (round: number) => void },
): Promise<{ successes: number[]; strange: string[] }> {
  const client: Client = clientOf(service, 'Demo public')
  const successes: number[] = []
  const strange: string[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const callback = await authorize(service, { client, browser })
    const redeem = () => unlessTooBusy(() => exchange(service, callback))
    const answers = await Promise.all(Array.from({ length: parallel }, redeem))
    const texts = await Promise.all(
      answers.map(async (answer) => ({ status: answer.status, text: await answer.text() })),
    )
    successes.push(texts.filter(({ status }) => status === 200).length)
    const isRefusal = ({ status, text }: { status: number; text: string }) =>
      status === 400 && text.includes('"invalid_grant"')
    for (const answer of texts) {
      if (answer.status !== 200 && !isRefusal(answer)) strange.push(`${answer.status} ${answer.text}`)
    }
    onRound?.(round)
  }
  return { successes, strange }
}

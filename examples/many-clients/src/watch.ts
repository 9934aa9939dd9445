/**
 * Names each client with a campaign that bounces or is reported as spam too often: receivers would refuse the emails of all.
 * The person who operates Rapport decides.
 */
import { rapport } from './rapport-command.ts'

interface Figures {
  id: string
  name: string
  suspendedAt: string | null
  worstHardBounceRate: number | null
  worstComplaintRate: number | null
}

const percent = (rate: number | null) => `${(100 * (rate ?? 0)).toFixed(2)} %`

const { data } = rapport('workspace', 'list', '--sort', 'worstHardBounceRate') as { data: Figures[] }
for (const { id, name, suspendedAt, worstHardBounceRate, worstComplaintRate } of data) {
  const isBad = (worstHardBounceRate ?? 0) > 0.05 || (worstComplaintRate ?? 0) > 0.001
  if (!isBad || suspendedAt !== null) continue
  console.log(`${name}: ${percent(worstHardBounceRate)} bounced, ${percent(worstComplaintRate)} spam`)
  console.log(`  rapport workspace suspend ${id}`)
}

import { campaignTools } from './campaign-tools.ts'
import { companyTools } from './company-tools.ts'
import { consentTools } from './consent-tools.ts'
import { contactTools } from './contact-tools.ts'
import { dealTools } from './deal-tools.ts'
import { domainTools } from './domain-tools.ts'
import { emailTools } from './email-tools.ts'
import { listTools } from './list-tools.ts'
import { noteTools } from './note-tools.ts'
import { sendingTools } from './sending-tools.ts'
import type { Tool } from './tool.ts'

/** No tool deletes, exports, or manages keys and members: agents act on text that visitors wrote. */
export const tools: readonly Tool[] = [
  ...contactTools,
  ...companyTools,
  ...noteTools,
  ...consentTools,
  ...listTools,
  ...campaignTools,
  ...emailTools,
  ...domainTools,
  ...sendingTools,
  ...dealTools,
]

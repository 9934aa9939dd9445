import { z } from 'zod'

export const backupVariables = {
  BACKUP_DIRECTORY: z.string().optional().describe('The folder of the backups'),
  BACKUP_KEY: z
    .string()
    .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 random bytes in Base64, such as the output of "openssl rand -base64 32"')
    .optional()
    .describe('Encrypts backups, and is needed to restore them'),
  BACKUP_VERIFY_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' })
    .optional()
    .describe('Any database of the server on which backups are verified'),
  PG_DUMP: z.string().optional().describe('The path of pg_dump, if it is not the one on the PATH'),
}

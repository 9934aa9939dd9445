import { repairUrl } from './repair-url.ts'

/** Replaces a path that cannot be decoded with one that has no route, so that it is handled like any unknown route. */
export function decodableUrl({ url: requested = '/' }: { url?: string | undefined }): string {
  const url = repairUrl(requested)
  if (!url.includes('%')) return url
  try {
    decodeURI(url.split('?', 1)[0] ?? '')
    return url
  } catch {
    return '/%25'
  }
}

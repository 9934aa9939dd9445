import { expect, test } from 'vitest'
import { readRepositoryText } from '../conventions/repository-texts.ts'

test('the chart has the alerts of Prometheus', () => {
  // Helm reads no file outside of the chart: cp ops/prometheus/alerts.yml ops/helm/rapport/files/
  expect(readRepositoryText('ops/helm/rapport/files/alerts.yml')).toBe(readRepositoryText('ops/prometheus/alerts.yml'))
})

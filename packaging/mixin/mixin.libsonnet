// The monitoring mixin of stackmap: https://monitoring.mixins.dev
(import 'config.libsonnet') + (import 'rules.libsonnet') + (import 'alerts.libsonnet') + (import 'dashboard.libsonnet')

// The dashboard of packaging/grafana, with the tags of the site.
{
  grafanaDashboards+:: {
    'stackmap.json': (import '../grafana/stackmap.json') + { tags: $._config.dashboardTags },
  },
}

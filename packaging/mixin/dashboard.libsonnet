// The dashboard of packaging/grafana, with the tags of the site and its label in place of cluster.
local template = importstr '../grafana/stackmap.json';

{
  grafanaDashboards+:: {
    'stackmap.json':
      std.parseJson(std.strReplace(template, 'cluster', $._config.clusterLabel)) + { tags: $._config.dashboardTags },
  },
}

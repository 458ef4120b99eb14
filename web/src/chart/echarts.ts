/** The part of ECharts that the page uses, and no more. */

import { CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

use([LineChart, ScatterChart, CustomChart, GridComponent, CanvasRenderer]);

export { init };
export type { EChartsCoreOption as Option, ECharts } from 'echarts/core';

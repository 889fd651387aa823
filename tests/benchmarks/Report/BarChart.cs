using System.Globalization;
using System.Text;

namespace ProtoRpc.Benchmarks.Report;

/// <summary>Draws results as horizontal bars, a line for its spread over each, in SVG.</summary>
/// <remarks>Each panel has its own scale, which begins at zero: what is compared is within a panel.</remarks>
internal static class BarChart
{
    private const int LabelWidth = 330;
    private const int ValueWidth = 110;
    private const int BarsWidth = ChartSheet.Width - LabelWidth - ValueWidth;
    private const int BarHeight = 16;
    private const int RowHeight = 24;
    private const int PanelHead = 34;

    public static string Draw(string title, string unit, IReadOnlyList<ChartPanel> panels)
    {
        int height =
            ChartSheet.TitleHeight + panels.Sum(panel => PanelHead + (panel.Bars.Count * RowHeight)) + 8;
        StringBuilder svg = new();
        int y = ChartSheet.TitleHeight;
        foreach (ChartPanel panel in panels)
        {
            svg.AppendLine(
                CultureInfo.InvariantCulture,
                $"<text class=\"panel\" x=\"12\" y=\"{y + 20}\">{ChartSheet.Text(panel.Name)}</text>");
            y += PanelHead;
            double most = panel.Bars.Max(bar => bar.High);
            foreach (ChartBar bar in panel.Bars)
            {
                Draw(svg, bar, y, most > 0 ? BarsWidth / most : 0);
                y += RowHeight;
            }
        }

        return ChartSheet.Draw($"{title}, {unit}", height, svg.ToString());
    }

    private static void Draw(StringBuilder svg, ChartBar bar, int y, double scale)
    {
        int middle = y + (BarHeight / 2);
        string length = ChartSheet.Number(bar.Value * scale);
        string low = ChartSheet.Number(LabelWidth + (bar.Low * scale));
        string high = ChartSheet.Number(LabelWidth + (bar.High * scale));
        string after = ChartSheet.Number(LabelWidth + (bar.High * scale) + 8);
        svg.AppendLine(CultureInfo.InvariantCulture, $"""
            <text x="{LabelWidth - 8}" y="{y + 13}" text-anchor="end">{ChartSheet.Text(bar.Label)}</text>
            <rect class="bar" x="{LabelWidth}" y="{y}" width="{length}" height="{BarHeight}" rx="2"/>
            <line class="spread" x1="{low}" y1="{middle}" x2="{high}" y2="{middle}"/>
            <text x="{after}" y="{y + 13}">{ResultTable.Rate(bar.Value)}</text>
            """);
    }
}

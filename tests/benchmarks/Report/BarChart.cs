using System.Globalization;
using System.Security;
using System.Text;

namespace ProtoRpc.Benchmarks.Report;

/// <summary>Draws results as horizontal bars, a line for its spread over each, in SVG.</summary>
/// <remarks>Each panel has its own scale, which begins at zero: what is compared is within a panel.</remarks>
internal static class BarChart
{
    private const int Width = 920;
    private const int LabelWidth = 330;
    private const int ValueWidth = 110;
    private const int BarsWidth = Width - LabelWidth - ValueWidth;
    private const int BarHeight = 16;
    private const int RowHeight = 24;
    private const int PanelHead = 34;
    private const int TitleHeight = 44;

    public static string Draw(string title, string unit, IReadOnlyList<ChartPanel> panels)
    {
        int height = TitleHeight + panels.Sum(panel => PanelHead + (panel.Bars.Count * RowHeight)) + 8;
        StringBuilder svg = new();
        svg.AppendLine(CultureInfo.InvariantCulture, $"""
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {Width} {height}"
             width="{Width}" height="{height}" role="img">
            <title>{Text(title)}</title>
            <style>
            text {"{"} font: 13px system-ui, sans-serif; fill: #1f2328 {"}"}
            .title {"{"} font-size: 17px; font-weight: 600 {"}"}
            .panel {"{"} font-weight: 600 {"}"}
            .bar {"{"} fill: #3b7dd8 {"}"}
            .spread {"{"} stroke: #1f2328; stroke-width: 1.5 {"}"}
            .ground {"{"} fill: #ffffff {"}"}
            @media (prefers-color-scheme: dark) {"{"}
            text {"{"} fill: #e6edf3 {"}"}
            .bar {"{"} fill: #4c8fe8 {"}"}
            .spread {"{"} stroke: #e6edf3 {"}"}
            .ground {"{"} fill: #0d1117 {"}"}
            {"}"}
            </style>
            <rect class="ground" width="{Width}" height="{height}"/>
            <text class="title" x="12" y="28">{Text(title)}, {Text(unit)}</text>
            """);
        int y = TitleHeight;
        foreach (ChartPanel panel in panels)
        {
            svg.AppendLine(
                CultureInfo.InvariantCulture,
                $"<text class=\"panel\" x=\"12\" y=\"{y + 20}\">{Text(panel.Name)}</text>");
            y += PanelHead;
            double most = panel.Bars.Max(bar => bar.High);
            foreach (ChartBar bar in panel.Bars)
            {
                Draw(svg, bar, y, most > 0 ? BarsWidth / most : 0);
                y += RowHeight;
            }
        }

        return svg.AppendLine("</svg>").ToString().ReplaceLineEndings("\n");
    }

    private static void Draw(StringBuilder svg, ChartBar bar, int y, double scale)
    {
        int middle = y + (BarHeight / 2);
        string length = Number(bar.Value * scale);
        string low = Number(LabelWidth + (bar.Low * scale));
        string high = Number(LabelWidth + (bar.High * scale));
        string after = Number(LabelWidth + (bar.High * scale) + 8);
        svg.AppendLine(CultureInfo.InvariantCulture, $"""
            <text x="{LabelWidth - 8}" y="{y + 13}" text-anchor="end">{Text(bar.Label)}</text>
            <rect class="bar" x="{LabelWidth}" y="{y}" width="{length}" height="{BarHeight}" rx="2"/>
            <line class="spread" x1="{low}" y1="{middle}" x2="{high}" y2="{middle}"/>
            <text x="{after}" y="{y + 13}">{ResultTable.Rate(bar.Value)}</text>
            """);
    }

    private static string Number(double value) => value.ToString("0.#", CultureInfo.InvariantCulture);

    private static string Text(string text) => SecurityElement.Escape(text);
}

using System.Globalization;
using System.Security;

namespace ProtoRpc.Benchmarks.Report;

/// <summary>The sheet that charts are drawn on, in SVG: its size, its title, and the colours of what stands
/// on it, in light and dark.</summary>
internal static class ChartSheet
{
    public const int Width = 920;

    /// <summary>Where what is drawn begins.</summary>
    public const int TitleHeight = 44;

    /// <param name="title">What the chart shows.</param>
    /// <param name="height">The height of the sheet, with the title's.</param>
    /// <param name="content">What stands below the title.</param>
    public static string Draw(string title, int height, string content) => string.Create(
        CultureInfo.InvariantCulture,
        $"""
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {Width} {height}"
         width="{Width}" height="{height}" role="img">
        <title>{Text(title)}</title>
        <style>
        text {"{"} font: 13px system-ui, sans-serif; fill: #1f2328 {"}"}
        .title {"{"} font-size: 17px; font-weight: 600 {"}"}
        .panel {"{"} font-weight: 600 {"}"}
        .bar {"{"} fill: #3b7dd8 {"}"}
        .spread {"{"} stroke: #1f2328; stroke-width: 1.5 {"}"}
        .line {"{"} fill: none; stroke-width: 1.5; stroke-linejoin: round {"}"}
        .first {"{"} stroke: #3b7dd8 {"}"}
        .second {"{"} stroke: #c4572b {"}"}
        .axis {"{"} stroke: #8c959f; stroke-width: 1 {"}"}
        .ground {"{"} fill: #ffffff {"}"}
        @media (prefers-color-scheme: dark) {"{"}
        text {"{"} fill: #e6edf3 {"}"}
        .bar {"{"} fill: #4c8fe8 {"}"}
        .spread {"{"} stroke: #e6edf3 {"}"}
        .first {"{"} stroke: #4c8fe8 {"}"}
        .second {"{"} stroke: #e8804c {"}"}
        .ground {"{"} fill: #0d1117 {"}"}
        {"}"}
        </style>
        <rect class="ground" width="{Width}" height="{height}"/>
        <text class="title" x="12" y="28">{Text(title)}</text>
        {content.TrimEnd()}
        </svg>

        """).ReplaceLineEndings("\n");

    /// <summary>A length or a place, as SVG takes it.</summary>
    public static string Number(double value) => value.ToString("0.#", CultureInfo.InvariantCulture);

    /// <summary>A text without markup.</summary>
    public static string Text(string text) => SecurityElement.Escape(text);
}

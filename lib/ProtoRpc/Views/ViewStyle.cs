namespace ProtoRpc.Views;

/// <summary>The escape sequences that a view begins and ends its parts with. The shell takes them out again
/// where it shows no colours.</summary>
/// <param name="Header">Begins the header of a table.</param>
/// <param name="Label">Begins the label of a line.</param>
/// <param name="Quiet">Begins what is said about a value and is none: what is absent or left out.</param>
/// <param name="Keyword">Begins a word of the .proto language.</param>
/// <param name="Comment">Begins a comment.</param>
/// <param name="Reset">Ends all of them.</param>
internal sealed record ViewStyle(
    string Header, string Label, string Quiet, string Keyword, string Comment, string Reset)
{
    /// <summary>Without colours.</summary>
    public static ViewStyle Plain { get; } = new("", "", "", "", "", "");

    public string InQuiet(string text) => $"{Quiet}{text}{Reset}";
}

using System.CommandLine.Parsing;
using System.Globalization;

namespace ProtoRpc.Tool.Verbs;

/// <summary>Reads a number such as 2.5 the same in every culture. A comma is an error: it separates thousands
/// in some cultures, and decimals in others.</summary>
internal static class NumberArgument
{
    public static double? ParseOptional(ArgumentResult result) => Parse(result);

    public static double Parse(ArgumentResult result)
    {
        if (result.Tokens is not [{ Value: string text }])
        {
            // Too many have an error of their own.
            return default;
        }

        if (!TryParse(text, out double number))
        {
            string name = result.Parent is OptionResult option ? option.Option.Name : result.Argument.Name;
            result.AddError($"{name} takes a number such as 2.5, and '{text}' is none.");
        }

        return number;
    }

    public static bool TryParse(string text, out double number) =>
        double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out number);
}

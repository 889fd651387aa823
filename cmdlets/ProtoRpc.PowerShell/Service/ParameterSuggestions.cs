using ProtoRpc.Commands;
using ProtoRpc.PowerShell.Completion;

namespace ProtoRpc.PowerShell.Service;

/// <summary>What Tab offers for a parameter: the names of an enum, or a nested message as a hashtable to be
/// filled in.</summary>
internal static class ParameterSuggestions
{
    private const int MaxLength = 20_000;
    private const int MaxFields = 30;

    /// <summary>The suggestions; empty for none.</summary>
    public static string[] Of(CommandParameter parameter, TextBudget budget)
    {
        IEnumerable<string> values = parameter.Field switch
        {
            { IsMap: true } => [],
            { EnumType: not null } => parameter.EnumNames,
            { MessageType: { } type } when parameter.Type == typeof(object)
                || parameter.Type == typeof(object[]) => [TemplateOf(type)],
            _ => [],
        };
        string[] found = [.. values.Where(value => value.Length > 0)];
        return budget.Take(found.Sum(value => value.Length), MaxLength) ? found : [];
    }

    // Its own messages are empty ones.
    private static string TemplateOf(RpcMessageInfo type) => ScriptLiteral.Table(
        type.Fields.Take(MaxFields).Select(field =>
            KeyValuePair.Create<object, string>(field.Name, EmptyOf(field))));

    private static string EmptyOf(RpcFieldInfo field) => field switch
    {
        { IsMap: true } => "@{}",
        { IsRepeated: true } => "@()",
        { Kind: RpcFieldKind.Message or RpcFieldKind.Group } => "@{}",
        { Kind: RpcFieldKind.String or RpcFieldKind.Bytes } => "''",
        { Kind: RpcFieldKind.Bool } => "$false",
        { EnumType: { Values: [var first, ..] } } => ScriptLiteral.Of(first.Key),
        _ => "0",
    };
}

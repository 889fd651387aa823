using System.Collections.Frozen;
using ProtoRpc.Messages;

namespace ProtoRpc.Commands;

/// <summary>The command of a method, as it is planned from the schema.</summary>
internal sealed class ServiceCommand
{
    private readonly Lazy<FrozenDictionary<string, CommandParameter>> _byName;
    private readonly Lazy<FrozenDictionary<string, CommandParameter>> _byField;

    public ServiceCommand(string name, RpcMethodInfo method, bool hasParameters)
    {
        Name = name;
        Method = method;
        HasParameters = hasParameters;
        Parameters = hasParameters ? CommandParameters.Of(method.RequestType) : [];
        WellKnown = WellKnownTypes.Of(method.RequestType);
        _byName = new(() => Index(Parameters));
        _byField = new(() => IndexFields(Parameters));
    }

    /// <summary>The name, verb and noun.</summary>
    public string Name { get; }

    /// <summary>The method that it calls.</summary>
    public RpcMethodInfo Method { get; }

    /// <summary>Whether the fields have parameters. Requests with very many fields are given
    /// whole.</summary>
    public bool HasParameters { get; }

    /// <summary>Which of the well-known types the request is, whose values are requests
    /// themselves.</summary>
    public WellKnownType WellKnown { get; }

    /// <summary>The parameters of the fields, in declared order.</summary>
    public IReadOnlyList<CommandParameter> Parameters { get; }

    /// <summary>The parameter of a name, as the shell binds it; or null.</summary>
    public CommandParameter? FindByName(string name) =>
        _byName.Value.GetValueOrDefault(name) is { } parameter
        && parameter.Name.Equals(name, StringComparison.OrdinalIgnoreCase) ? parameter : null;

    /// <summary>The parameter whose field has exactly this name, or that has it as its name or alias; or
    /// null.</summary>
    public CommandParameter? FindParameter(string name) =>
        _byField.Value.GetValueOrDefault(name) ?? _byName.Value.GetValueOrDefault(name);

    // Fields may differ only in case, and one's parameter may have the name of another one.
    private static FrozenDictionary<string, CommandParameter> IndexFields(
        IReadOnlyList<CommandParameter> parameters)
    {
        Dictionary<string, CommandParameter> byField =
            parameters.ToDictionary(parameter => parameter.Field.Name, StringComparer.Ordinal);
        foreach (CommandParameter parameter in parameters)
        {
            byField.TryAdd(parameter.Field.JsonKey, parameter);
        }

        return byField.ToFrozenDictionary(StringComparer.Ordinal);
    }

    // Names first: one parameter's name may be the name of another one's field.
    private static FrozenDictionary<string, CommandParameter> Index(
        IReadOnlyList<CommandParameter> parameters)
    {
        Dictionary<string, CommandParameter> byName = new(StringComparer.OrdinalIgnoreCase);
        foreach (CommandParameter parameter in parameters)
        {
            byName.TryAdd(parameter.Name, parameter);
        }

        foreach (CommandParameter parameter in parameters)
        {
            foreach (string alias in parameter.Aliases)
            {
                byName.TryAdd(alias, parameter);
            }
        }

        foreach (CommandParameter parameter in parameters)
        {
            byName.TryAdd(parameter.Field.Name, parameter);
            byName.TryAdd(parameter.Field.JsonKey, parameter);
        }

        return byName.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);
    }
}

/// <summary>The parameter of a command for a field of the request.</summary>
/// <param name="Name">The parameter's name.</param>
/// <param name="Aliases">Other names: the field's own, where it differs.</param>
/// <param name="Field">The field.</param>
/// <param name="Type">The type of its argument.</param>
internal sealed record CommandParameter(
    string Name, IReadOnlyList<string> Aliases, RpcFieldInfo Field, Type Type)
{
    // More is not useful in a syntax, and a hostile schema can have millions.
    private const int MaxValues = 200;

    /// <summary>Whether it is a switch: a bool that may be left out.</summary>
    public bool IsSwitch { get; init; }

    /// <summary>How it reads text.</summary>
    public ArgumentText Text { get; init; }

    /// <summary>Whether a call without it is refused.</summary>
    public bool IsMandatory => Field.IsRequired;

    /// <summary>The names of the field's enum, as far as they are offered.</summary>
    public IEnumerable<string> EnumNames =>
        Field.EnumType?.Values.Select(value => value.Key).Take(MaxValues) ?? [];
}

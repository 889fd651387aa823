using System.Collections.Frozen;

namespace ProtoRpc.Commands;

/// <summary>The command of a method, as it is planned from the schema.</summary>
internal sealed class ServiceCommand
{
    private readonly Lazy<FrozenDictionary<string, CommandParameter>> _byName;

    public ServiceCommand(string name, RpcMethodInfo method, bool hasParameters)
    {
        Name = name;
        Method = method;
        HasParameters = hasParameters;
        Parameters = hasParameters ? CommandParameters.Of(method.RequestType) : [];
        _byName = new(() => Index(Parameters));
    }

    /// <summary>The name, verb and noun.</summary>
    public string Name { get; }

    /// <summary>The method that it calls.</summary>
    public RpcMethodInfo Method { get; }

    /// <summary>Whether the fields have parameters. Requests with very many fields are given
    /// whole.</summary>
    public bool HasParameters { get; }

    /// <summary>The parameters of the fields, in declared order.</summary>
    public IReadOnlyList<CommandParameter> Parameters { get; }

    /// <summary>The parameter of a name, as the shell binds it; or null.</summary>
    public CommandParameter? FindByName(string name) =>
        FindParameter(name) is { } parameter
        && parameter.Name.Equals(name, StringComparison.OrdinalIgnoreCase) ? parameter : null;

    /// <summary>The parameter that has a name or alias, or whose field has the name; or null.</summary>
    public CommandParameter? FindParameter(string name) => _byName.Value.GetValueOrDefault(name);

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

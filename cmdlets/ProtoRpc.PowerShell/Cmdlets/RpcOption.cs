using System.Reflection;
using System.Runtime.CompilerServices;
using System.Security;

namespace ProtoRpc;

/// <summary>The base of objects with many optional settings. Knows which of them were given, so that several
/// objects can be merged.</summary>
/// <remarks>The properties have the attributes of parameters: the cmdlet that makes the object takes them as
/// its own parameters, and a hashtable goes through the same conversions and checks.</remarks>
public abstract class RpcOption
{
    internal const BindingFlags Settings =
        BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly | BindingFlags.IgnoreCase;

    // Created with the first setting, because most calls have none.
    private Dictionary<string, object?>? _given;

    private protected RpcOption()
    {
    }

    /// <summary>The names of the settings that were given.</summary>
    public IReadOnlyCollection<string> Given => _given is null ? [] : _given.Keys;

    /// <summary>Whether a setting was given.</summary>
    internal bool IsGiven(string name) => _given?.ContainsKey(name) == true;

    /// <summary>A setting; null if it was not given.</summary>
    internal T? Find<T>(string name)
        where T : struct =>
        _given is not null && _given.TryGetValue(name, out object? value) ? (T?)value : null;

    /// <summary>The settings that were given, for the shell's view.</summary>
    public override string ToString() => string.Join(", ", Given.Order(StringComparer.Ordinal));

    /// <summary>The names of a type's settings and their aliases, each with the name of its
    /// setting.</summary>
    internal static Dictionary<string, string> AliasesOf(Type type) => type.GetProperties(Settings)
        .SelectMany(property => (property.GetCustomAttribute<AliasAttribute>()?.AliasNames ?? [])
            .Prepend(property.Name).Select(name => (Name: name, property)))
        .ToDictionary(pair => pair.Name, pair => pair.property.Name, StringComparer.OrdinalIgnoreCase);

    /// <summary>The names of a type's settings.</summary>
    internal static IEnumerable<string> NamesOf(Type type) =>
        type.GetProperties(Settings).Select(property => property.Name);

    private protected T Get<T>(T otherwise, [CallerMemberName] string name = "") =>
        _given is not null && _given.TryGetValue(name, out object? value) ? (T)value! : otherwise;

    private protected void Set(object? value, [CallerMemberName] string name = "") =>
        (_given ??= new(StringComparer.OrdinalIgnoreCase))[name] = value;

    private protected void Remove(IEnumerable<string> names)
    {
        foreach (string name in names)
        {
            _given?.Remove(name);
        }
    }

    /// <summary>Takes over the settings that were given to another object.</summary>
    private protected void CopyFrom(RpcOption other)
    {
        foreach (string name in other.Given)
        {
            Set(other._given![name], name);
        }
    }
}

/// <summary>The base of attributes that convert a hashtable to an <see cref="RpcOption"/>. The cmdlet that
/// makes these objects converts and checks the values of the hashtable.</summary>
/// <param name="cmdlet">The name of the cmdlet.</param>
/// <param name="implementation">Its class.</param>
/// <param name="option">The type of the object.</param>
[AttributeUsage(AttributeTargets.Property)]
internal abstract class OptionTableAttribute(string cmdlet, Type implementation, Type option)
    : ArgumentTransformationAttribute
{
    /// <summary>Whether to accept an object of the pipeline, such as a row of a table. Its properties with
    /// the names of settings are used if they have a value.</summary>
    public bool TakesRows { get; set; }

    /// <summary>Whether the settings are stored in a file. Secrets are then references only, and nothing asks
    /// for a password.</summary>
    public bool IsStored { get; set; }

    public override bool TransformNullOptionalParameters => false;

    /// <summary>The names of the settings that are stored with the name of an endpoint.</summary>
    internal static IEnumerable<string> Stored { get; } =
    [
        .. RpcOption.NamesOf(typeof(RpcConnectionOption))
            .Where(name => typeof(RpcNamedEndpoint).GetProperty(name) is not null),
    ];

    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) switch
        {
            IDictionary table => Create(CheckKeys(table)),
            RpcOption or null => inputData,
            _ when TakesRows => Create(Cells(PSObject.AsPSObject(inputData))),
            _ => inputData,
        };

    private Dictionary<string, object?> CheckKeys(IDictionary table)
    {
        Dictionary<string, object?> settings = new(StringComparer.OrdinalIgnoreCase);
        Dictionary<string, string> known = RpcOption.AliasesOf(option);
        foreach (DictionaryEntry entry in table)
        {
            string name = LanguagePrimitives.ConvertTo<string>(entry.Key);
            string setting = known.GetValueOrDefault(name) ?? throw Unknown(name, known.Keys);
            if (!settings.TryAdd(setting, entry.Value))
            {
                throw Invalid($"'{setting}' is set twice: '{name}' is an alias of it. Remove one of "
                    + "the two.");
            }
        }

        return settings;
    }

    private ArgumentTransformationMetadataException Unknown(string name, IReadOnlyCollection<string> known) =>
        Invalid(
            $"'{TerminalText.Neutralize(name)}' is not a setting of {cmdlet}."
            + (LimitsTableAttribute.Limits.Known.TryGetValue(name, out PropertyInfo? limit)
                ? " It is a limit: "
                    + (known.Contains(nameof(RpcConnectionOption.Limits), StringComparer.OrdinalIgnoreCase)
                        ? "write Limits ="
                        : "use -Limits")
                    + $" @{{ {limit.Name} = ... }}."
                : $"{NearestName.Hint(name, known)} Get-Help {cmdlet} lists the settings."));

    // Import-Csv returns an empty text for an empty cell, and null for a cell that the row does not have.
    private Dictionary<string, object?> Cells(PSObject row)
    {
        Dictionary<string, object?> settings = new(StringComparer.OrdinalIgnoreCase);
        IEnumerable<string> wanted = IsStored ? Stored : RpcOption.NamesOf(option);
        foreach ((string column, string name) in RpcOption.AliasesOf(option).Where(
            pair => wanted.Contains(pair.Value, StringComparer.OrdinalIgnoreCase)))
        {
            object? value = row.Properties[column]?.Value;
            value = value is PSObject cell ? cell.BaseObject : value;
            if (value is not (null or "" or ICollection { Count: 0 }))
            {
                settings.TryAdd(
                    name,
                    option.GetProperty(name)!.PropertyType == typeof(SwitchParameter)
                        ? ToSwitch(name, value)
                        : value);
            }
        }

        return settings;
    }

    // PowerShell would convert every text to true, even 'False'.
    private static object ToSwitch(string name, object value) => value is not string text ? value
        : bool.TryParse(text, out bool isOn) ? isOn
        : throw Invalid($"{name} must be True or False, not '{TerminalText.Neutralize(text)}'.");

    private void RequireReferences(Dictionary<string, object?> settings)
    {
        if (!IsStored)
        {
            return;
        }

        foreach ((string name, object? value) in settings)
        {
            object? given = value is PSObject wrapped ? wrapped.BaseObject : value;
            Type type = option.GetProperty(name, RpcOption.Settings)!.PropertyType;
            bool isSecret = type == typeof(RpcCredentialSource) || type == typeof(RpcTokenSource);
            if (given is PSCredential or SecureString
                || (isSecret && given is string text && !SecretReference.IsReference(text)))
            {
                throw Invalid(
                    $"{name} is a secret, which is never written to a file. Store it with Set-Secret or in "
                    + $"an environment variable, and give its reference: {SecretReference.Forms}.");
            }
        }
    }

    private object Create(Dictionary<string, object?> settings)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        RequireReferences(settings);
        // By its type and not by its name, because a script may define a function with the cmdlet's name.
        shell.AddCommand(new CmdletInfo(cmdlet, implementation)).AddParameters(settings);
        try
        {
            return shell.Invoke()[0].BaseObject;
        }
        catch (RuntimeException e)
        {
            throw new ArgumentTransformationMetadataException(e.Message, e);
        }
    }

    private static ArgumentTransformationMetadataException Invalid(string message) => new(message);
}

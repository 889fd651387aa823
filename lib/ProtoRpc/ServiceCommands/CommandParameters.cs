using System.Collections.Frozen;
using ProtoRpc.Messages;

namespace ProtoRpc.ServiceCommands;

/// <summary>Plans the parameters of a command: one for each field of the request.</summary>
internal static class CommandParameters
{
    /// <summary>Whether nearly every object of the shell is such a request.</summary>
    public static bool IsAnyObject(WellKnownType request) =>
        request is WellKnownType.Struct or WellKnownType.Value or WellKnownType.ListValue;

    /// <summary>The parameters in declared order.</summary>
    /// <param name="request">The request.</param>
    /// <param name="isPaged">Whether the command has <c>-All</c>, because the method returns a list in
    /// pages.</param>
    public static IReadOnlyList<CommandParameter> Create(RpcMessageInfo request, bool isPaged = false)
    {
        // A Struct, Value or ListValue request is itself a hashtable or a list, whose keys are not its
        // fields.
        IReadOnlyList<RpcFieldInfo> fields = IsAnyObject(WellKnownTypes.Get(request)) ? [] : request.Fields;
        string[] names = NamesOf(fields, isPaged);
        HashSet<string> used = new(names, StringComparer.OrdinalIgnoreCase);
        CommandParameter[] parameters = new CommandParameter[fields.Count];
        for (int i = 0; i < fields.Count; i++)
        {
            parameters[i] = Create(names[i], AliasesOf(fields[i], used, isPaged), fields[i]);
        }

        int first = parameters.Length == 1
            ? 0
            : Array.FindIndex(parameters, parameter => parameter.IsMandatory);
        if (first >= 0)
        {
            // PowerShell does not bind switches by position.
            parameters[first] = parameters[first] with { IsPositional = !parameters[first].IsSwitch };
        }

        return parameters;
    }

    // Several fields may have the same name in Pascal case or without regard to case. All but the first one
    // are named with their number.
    private static string[] NamesOf(IReadOnlyList<RpcFieldInfo> fields, bool isPaged)
    {
        string[] names = [.. fields.Select(field => NameOf(field, isPaged))];
        HashSet<string> all = new(names, StringComparer.OrdinalIgnoreCase);
        HashSet<string> used = new(StringComparer.OrdinalIgnoreCase);
        for (int i = 0; i < names.Length; i++)
        {
            if (used.Add(names[i]))
            {
                continue;
            }

            string numbered = $"{names[i]}{ReservedNames.Suffix}{fields[i].Number}";
            for (string name = numbered; ; name += ReservedNames.Suffix)
            {
                if (!all.Contains(name) && used.Add(name))
                {
                    names[i] = name;
                    break;
                }
            }
        }

        return names;
    }

    private static string NameOf(RpcFieldInfo field, bool isPaged)
    {
        string name = NameWords.Pascal(field.Name);
        return name.Length == 0 || char.IsAsciiDigit(name[0]) ? ReservedNames.Suffix + name
            : ReservedNames.IsParameter(name, isPaged) || ReservedNames.IsVariable(name)
                ? name + ReservedNames.Suffix
            : name;
    }

    // The field's name in Pascal case, as in properties, and the original name. A name may be reserved only
    // as a variable; it can then be an alias.
    private static List<string> AliasesOf(RpcFieldInfo field, HashSet<string> used, bool isPaged)
    {
        List<string> aliases = [];
        foreach (string name in new[] { NameWords.Pascal(field.Name), field.Name })
        {
            bool isName = name.Length > 0 && !char.IsAsciiDigit(name[0]);
            if (isName && !ReservedNames.IsParameter(name, isPaged) && used.Add(name))
            {
                aliases.Add(name);
            }
        }

        return aliases;
    }

    private static CommandParameter Create(string name, IReadOnlyList<string> aliases, RpcFieldInfo field)
    {
        if (field.IsMap)
        {
            return new(name, aliases, field, typeof(object));
        }

        (Type type, ArgumentText text) = ElementOf(field);
        if (!field.IsRepeated)
        {
            return new(name, aliases, field, type)
            {
                // -All:$false sets false. Without the switch, the field is absent.
                IsSwitch = type == typeof(bool) && !field.IsRequired,
                Text = text,
            };
        }

        // The message mapper converts the elements of other types more precisely than PowerShell.
        return new(name, aliases, field, ListOf(type))
        {
            Text = type == typeof(string) ? ArgumentText.Plain
                : type == typeof(byte[]) ? ArgumentText.BytesList
                : ArgumentText.List,
        };
    }

    private static (Type Type, ArgumentText Text) ElementOf(RpcFieldInfo field) => field.Kind switch
    {
        RpcFieldKind.Double => (typeof(double), ArgumentText.Plain),
        RpcFieldKind.Float => (typeof(float), ArgumentText.Plain),
        RpcFieldKind.Int32 or RpcFieldKind.SInt32 or RpcFieldKind.SFixed32 =>
            (typeof(int), ArgumentText.Plain),
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 =>
            (typeof(long), ArgumentText.Plain),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (typeof(uint), ArgumentText.Plain),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => (typeof(ulong), ArgumentText.Plain),
        RpcFieldKind.Bool => (typeof(bool), ArgumentText.Bool),
        RpcFieldKind.String or RpcFieldKind.Enum => (typeof(string), ArgumentText.Plain),
        RpcFieldKind.Bytes => (typeof(byte[]), ArgumentText.Bytes),
        _ => MessageOf(field),
    };

    // Listed, because NativeAOT programs cannot create array types at run time.
    private static Type ListOf(Type element) =>
        element == typeof(string) ? typeof(string[])
        : element == typeof(int) ? typeof(int[])
        : element == typeof(long) ? typeof(long[])
        : element == typeof(uint) ? typeof(uint[])
        : element == typeof(ulong) ? typeof(ulong[])
        : element == typeof(double) ? typeof(double[])
        : element == typeof(float) ? typeof(float[])
        : element == typeof(bool) ? typeof(bool[])
        : typeof(object[]);

    private static (Type Type, ArgumentText Text) MessageOf(RpcFieldInfo field) =>
        WellKnownTypes.Get(field.MessageType!) switch
        {
            WellKnownType.Timestamp => (typeof(DateTimeOffset), ArgumentText.Timestamp),
            WellKnownType.Duration => (typeof(TimeSpan), ArgumentText.Duration),
            WellKnownType.Wrapper => ElementOf(field.MessageType!.Fields[0]),
            WellKnownType.FieldMask => (typeof(string[]), ArgumentText.Plain),
            _ => (typeof(object), ArgumentText.Plain),
        };
}

/// <summary>Names that a parameter for a field cannot have.</summary>
internal static class ReservedNames
{
    /// <summary>The suffix of a parameter whose field has a reserved name.</summary>
    public const string Suffix = "Field";

    // All commands have these parameters and aliases. PowerShell rejects commands that declare some of them.
    private const string Common =
        """
        Verbose Debug ErrorAction WarningAction InformationAction ProgressAction ErrorVariable
        WarningVariable InformationVariable OutVariable OutBuffer PipelineVariable WhatIf Confirm
        UseTransaction vb db ea wa infa proga ev wv iv ov ob pv wi cf usetx
        """;

    // The parameters that all commands of services have.
    private const string Own = "InputObject Connection Deadline Header AsHashtable ThrottleLimit AsJob";

    // A parameter of commands whose methods return a list in pages.
    private const string All = "All";

    // The properties of every cmdlet.
    private const string Members =
        """
        CommandOrigin CommandRuntime CurrentPSTransaction Events InvokeCommand InvokeProvider JobManager
        JobRepository PagingParameters ParameterSetName PipelineStopToken SessionState Stopping
        """;

    // A parameter becomes a variable in a mock of the command and when it is splatted. These variables have a
    // meaning in PowerShell, and some are read-only.
    private const string Variables =
        """
        args input this PSItem PSCmdlet PSBoundParameters MyInvocation ExecutionContext PSScriptRoot
        PSCommandPath true false null error host home pid pwd PSHome PSVersionTable PSEdition PSCulture
        PSUICulture PSSenderInfo PSStyle PSDefaultParameterValues PSNativeCommandUseErrorActionPreference
        PSModuleAutoLoadingPreference PSEmailServer PSSessionOption PSSessionConfigurationName
        PSSessionApplicationName PSLogUserData PSDebugContext ShellId StackTrace matches foreach switch
        profile OFS LASTEXITCODE sender event EventArgs EventSubscriber SourceEventArgs SourceArgs
        EnabledExperimentalFeatures IsWindows IsLinux IsMacOS IsCoreCLR ConsoleFileName NestedPromptLevel
        FormatEnumerationLimit MaximumHistoryCount OutputEncoding
        """;

    private static readonly FrozenSet<string> OfParameters = SetOf(Common, Own);
    private static readonly FrozenSet<string> OfVariables = SetOf(Members, Variables);

    /// <summary>Whether a command has a parameter or alias of this name already, so that a field cannot even
    /// have it as an alias.</summary>
    /// <param name="name">The name.</param>
    /// <param name="isPaged">Whether the command has <c>-All</c>.</param>
    public static bool IsParameter(string name, bool isPaged) => OfParameters.Contains(name)
        || (isPaged && name.Equals(All, StringComparison.OrdinalIgnoreCase));

    /// <summary>Whether a variable or a property of a cmdlet has this name, which means something to the
    /// shell.</summary>
    public static bool IsVariable(string name) => OfVariables.Contains(name)
        || name.EndsWith("Preference", StringComparison.OrdinalIgnoreCase);

    private static FrozenSet<string> SetOf(params string[] texts) => texts
        .SelectMany(text => text.Split([' ', '\n', '\r'], StringSplitOptions.RemoveEmptyEntries))
        .ToFrozenSet(StringComparer.OrdinalIgnoreCase);
}

/// <summary>How a parameter converts a text argument, if PowerShell would reject it or convert it in another
/// way than the message mapper.</summary>
internal enum ArgumentText
{
    /// <summary>As the shell does.</summary>
    Plain,

    /// <summary><c>true</c> and <c>false</c>; empty for absent.</summary>
    Bool,

    /// <summary>Text with the prefix <c>utf8:</c> or <c>base64:</c>.</summary>
    Bytes,

    /// <summary>A date of RFC 3339.</summary>
    Timestamp,

    /// <summary>Seconds, or a time with colons.</summary>
    Duration,

    /// <summary>A list as JSON; empty for no element.</summary>
    List,

    /// <summary>A list of bytes, as <see cref="List"/>; one byte array is one element.</summary>
    BytesList,
}
